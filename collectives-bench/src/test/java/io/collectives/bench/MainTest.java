package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.Model.OptionSpec;

@Tag("once")
class MainTest {
  @Test
  void withoutACommandTheHelpIsAnError() {
    Invocation none = Invocation.of();
    assertEquals(2, none.status());
    assertEquals("", none.out());
    assertTrue(none.err().startsWith("Usage: collectives"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--help",
        "demo --help",
        "train --help",
        "scaling --help",
        "update --help",
        "auc --help",
        "launch --help",
        "perf --help",
        "compare --help",
        "verify --help",
        "simulate --help",
        "paper --help",
        "accuracy --help",
        "chaos --help",
        "flight --help",
        "jmh --help",
        "help perf"
      })
  void helpHasExamplesAndFits(String arguments) {
    Invocation help = Invocation.of(arguments.split(" "));
    assertEquals(0, help.status());
    assertEquals("", help.err());
    assertTrue(help.out().contains("Examples:\n  collectives "), help.out());
    assertEquals(List.of(), help.out().lines().filter(line -> line.length() > 120).toList());
  }

  /** Whatever each command is given that it does not know. */
  @Test
  void everyCommandRefusesWhatItDoesNotKnow() {
    Main.commandLine()
        .getSubcommands()
        .forEach(
            (name, command) -> {
              boolean passesOn = name.equals("jmh") || name.equals("help");
              List<OptionSpec> options = passesOn ? List.of() : command.getCommandSpec().options();
              for (OptionSpec option : options) {
                // A path may be anything, but for pictures.
                boolean anything =
                    List.of(option.auxiliaryTypes()).contains(Path.class)
                        && !option.longestName().equals("--chart");
                if (option.arity().max() > 0 && !anything) {
                  assertIsWrongUsage(name, option.longestName() + "=\u00a7");
                }
              }
              if (!passesOn) {
                assertIsWrongUsage(name, "--no-such-option");
              }
              assertIsWrongUsage(name + "x", "--help");
            });
  }

  private static void assertIsWrongUsage(String... arguments) {
    Invocation wrong = Invocation.of(arguments);
    String what = String.join(" ", arguments) + ": " + wrong.err();
    assertEquals(2, wrong.status(), what);
    assertEquals("", wrong.out(), what);
    assertEquals(1, wrong.err().lines().count(), what);
    assertTrue(wrong.err().startsWith("collectives"), what);
  }

  @Test
  void hiddenCommandsAreNotInTheHelp() {
    assertTrue(!Invocation.of("--help").out().contains("-rank"));
  }

  @Test
  void theVersionIsOneLine() {
    Invocation version = Invocation.of("--version");
    assertEquals(0, version.status());
    assertEquals(1, version.out().lines().count());
    assertTrue(version.out().startsWith("collectives "));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "nonsense | collectives: there is no command 'nonsense'; there are demo, train, launch, perf,",
        "nonsense --help | collectives: there is no command 'nonsense'; there are demo, train, launch, perf,",
        "--help nonsense | collectives: there is no command 'nonsense'; there are demo, train, launch, perf,",
        "help nonsense | collectives: there is no command 'nonsense'; there are demo, train, launch, perf,",
        "pref --help | collectives: there is no command 'pref'; did you mean perf; try",
        "acuracy -n 2 | collectives: there is no command 'acuracy'; did you mean accuracy; try",
        "perf --wait-nearr | collectives perf: unknown option '--wait-nearr'; did you mean --wait-near",
        "perf --rank=2 | collectives perf: unknown option '--rank=2'; did you mean --ranks",
        "perf --wait-far=-1 | collectives perf: --wait-far -1.0: must be from 0 to 86400 seconds",
        "perf --wait-near --wait-far | collectives perf: --wait-near with --wait-far: cores are one or the other;",
        "compare --wait-far=x | collectives compare: --wait-far: 'x' is no number",
        "compare --wait-near --wait-far=3 | collectives compare: --wait-near with --wait-far: cores are one",
        "--nonsense | collectives: unknown option '--nonsense'; try 'collectives --help'",
        "perf --nonsense | collectives perf: unknown option '--nonsense'; try 'collectives perf --help'",
        "perf extra | collectives perf: unexpected argument 'extra'; try",
        "perf --ranks | collectives perf: missing required parameter for option '--ranks'",
        "perf --ranks x | collectives perf: --ranks: 'x' is no whole number",
        "perf --ranks 0 | collectives perf: --ranks 0: must be from 1 to 256",
        "perf --ranks 2,257 | collectives perf: --ranks 257: must be from 1 to 256",
        "perf --algorithm torus:2x1 --ranks 2,4 | collectives perf: --algorithm: torus:2x1 has 2 places, the group has 4 ranks",
        "perf --chart x.gif | collectives perf: --chart x.gif: must end with .png or .svg",
        "perf --aot FILE | collectives perf: --aot goes with --start-up",
        "launch -n 2 --aot FILE sh -c true | collectives launch: --aot FILE: archives classes of a java, and COMMAND is sh",
        "perf --start-up 0 | collectives perf: --start-up 0: must be from 1 to 1000",
        "perf --start-up --placement threads | collectives perf: --start-up is of processes; --placement threads",
        "perf --min-time x | collectives perf: --min-time: 'x' is no number",
        "perf --min-time -1 | collectives perf: --min-time -1.0: must be",
        "perf --warmup NaN | collectives perf: --warmup NaN: must be",
        "perf --wait-near=-1 | collectives perf: --wait-near -1.0: must be",
        "perf --iterations -1 | collectives perf: --iterations -1: must be",
        "perf --rounds 0 | collectives perf: --rounds 0: must be from 1 to 1000",
        "perf --rounds 1001 | collectives perf: --rounds 1001: must be from 1 to 1000",
        "perf --bytes x | collectives perf: --bytes: 'x' is no size; write bytes as",
        "perf --bytes 8,7 | collectives perf: --bytes 7: must be a multiple of 4 (one float32) and more",
        "perf --bytes 4 --type int64 | collectives perf: --bytes 4: must be a multiple of 8 (one int64) and more",
        "perf --bytes 0 | collectives perf: --bytes 0: must be",
        "perf --bytes 2G | collectives perf: --bytes 2147483648: must be less than 2G",
        "perf --bytes 999999999999999G | collectives perf: --bytes: '999999999999999G' is more bytes than there are",
        "perf --type float8 | collectives perf: --type: 'float8' is none of float32, float64, int32, int64, bfloat16, float16",
        "perf --op xor | collectives perf: --op: 'xor' is none of sum, average, min, max, product",
        "perf --format xml | collectives perf: --format: 'xml' is none of table, tsv, json",
        "perf --collective sum | collectives perf: --collective: 'sum' is none of all-reduce, barrier,",
        "perf -n 4 --algorithm auto,ring --repeatability exact | collectives perf: --repeatability exact with --algorithm ring",
        "perf --repeatability exact --op product | collectives perf: --repeatability exact with --op product",
        "perf --repeatability exact --wire-type int8 | collectives perf: repeatability exact with the wire type int8",
        "perf --collective reduce --out-of-place | collectives perf: --out-of-place with --collective [reduce]: it is for",
        "perf --finite-check | collectives perf: --finite-check in place by --op [sum]: results of results overflow;",
        "perf --algorithm tree | collectives perf: --algorithm: 'tree' is no algorithm; there are auto, ring,",
        "perf --algorithm torus:3x2 | collectives perf: --algorithm: torus:3x2 has 6 places, the group has 2 ranks",
        "perf --placement processes --transport inprocess | collectives perf: --transport inprocess with --placement processes: ",
        "perf --frame-length 3 | collectives perf: frame length 3: must be",
        "perf --frame-length 8G | collectives perf: --frame-length: must be",
        "perf --slabs-in-flight 0 | collectives perf: slabs in flight 0: must be",
        "compare --ranks 2,1 | collectives compare: --ranks 1: must be from 2 to 64",
        "compare --peers mpich | collectives compare: --peers: 'mpich' is none of openmpi, gloo, pytorch-gloo, rabit, spark, c-shm",
        "compare --bytes 6 | collectives compare: --bytes 6: must be a multiple of 4, more than 0",
        "compare --memory heap | collectives compare: --memory: 'heap' is none of array, direct, communicator",
        "compare --collective broadcast,reduce | collectives compare: --collective reduce: must be all-reduce, reduce-scatter,",
        "compare --collective sum | collectives compare: --collective: 'sum' is none of all-reduce,",
        "compare --collective all-reduce,all-gather -n 2,3 --bytes 24,16 | collectives compare: --bytes 16 with --collective all-gather and --ranks 3: must be a multiple of 12,",
        "compare --collective reduce-scatter -n 4 | collectives compare: --bytes 8 with --collective reduce-scatter and --ranks 4: must be a multiple of 16,",
        "compare --collective all-reduce,broadcast --chart x.svg | collectives compare: --chart with --collective [all-reduce, broadcast]: a picture shows one",
        "compare --rounds 0 | collectives compare: --rounds 0: must be from 1 to 1000",
        "compare --limit -1 | collectives compare: --limit -1.0: must be",
        "compare --chart x.gif | collectives compare: --chart x.gif: must end with .png or .svg",
        "compare --algorithm torus:3x2 | collectives compare: --algorithm: torus:3x2 has 6 places, the group has 2 ranks",
        "compare --placement processes --transport inprocess | collectives compare: --transport inprocess with",
        "launch | collectives launch: missing required options and parameters: '--ranks=RANKS', 'COMMAND'",
        "launch -n 2 | collectives launch: missing required parameter: 'COMMAND'",
        "launch -n 0 true | collectives launch: -n 0: must be from 1 to 1024",
        "launch true | collectives launch: missing required option",
        "demo --model vgg | collectives demo: --model: 'vgg' is none of resnet50, bert-large",
        "demo --ranks 65 | collectives demo: --ranks 65: must be from 1 to 64",
        "demo --type int32 | collectives demo: --type int32: gradients are float32,",
        "demo --steps 0 | collectives demo: --steps 0: must be",
        "demo --algorithm parameter-server:9 | collectives demo: --algorithm: parameter-server:9: from 1 to 4",
        "demo --algorithm parameter-server:0+1 | collectives demo: --algorithm: parameter-server:0+1: all ranks work here",
        "train --kill 2 | collectives train: --kill: '2' is no rank and epoch; write 2@6",
        "train --kill 4@1 | collectives train: --kill 4@1: must be one of several ranks, from 0 to 3, and an epoch from 1 to 12",
        "train --kill 1@13 | collectives train: --kill 1@13: must be one of several ranks, from 0 to 3, and an epoch from 1 to 12",
        "train --kill 0@1 --ranks 1 | collectives train: --kill 0@1: must be one of several ranks",
        "train --kill 1@1 --placement threads | collectives train: --kill: a thread cannot be killed; use --placement processes",
        "train --kill 1@1 --update servers --servers 1 | collectives train: --kill: goes with --update allreduce or sharded",
        "train --slow 1 | collectives train: --slow: '1' is no rank and number of milliseconds; write 1=20",
        "train --slow 4=20 | collectives train: --slow 4=20: must be a rank from 0 to 3, and 1 to 10000 milliseconds",
        "train --slow 1=0 | collectives train: --slow 1=0: must be a rank from 0 to 3, and 1 to 10000 milliseconds",
        "train --error-feedback yes | collectives train: --error-feedback yes: must be on or off",
        "train --error-feedback off | collectives train: --error-feedback off: goes with --wire-type int8 and --update allreduce",
        "train --algorithm auto,ring --repeatability rank-order | collectives train: --repeatability rank-order with --algorithm ring: it passes",
        "train --wire-type int8 --repeatability exact | collectives train: repeatability exact with the wire type int8",
        "train --buffer 0 | collectives train: --buffer 0: must be from 1 to 1G",
        "train --update servers --servers 1 --overlap | collectives train: --overlap and --buffer: go with --update allreduce",
        "train --micro-batches 2 --update allreduce | collectives train: --micro-batches 2: must be from 1 to 64, and goes with --update sharded",
        "train --spatial 5x1 | collectives train: --spatial 5x1: must be from 1x1 to 4x4, as 2x1",
        "train --spatial 3x1 | collectives train: --spatial 3x1: must divide the 4 ranks that work",
        "train --spatial 2x1 --norm-ranks 3 | collectives train: --norm-ranks 3: must be a multiple of the 2 ranks that share an image",
        "train --chart x.gif | collectives train: --chart x.gif: must end with .png or .svg",
        "scaling --ranks 17 | collectives scaling: --ranks 17: must be from 1 to 16",
        "scaling --simulate 5000 | collectives scaling: --simulate 5000: must be from 1 to 4096",
        "scaling --batch 0 | collectives scaling: --batch 0: must be from 1 to 64",
        "scaling --rounds 0 | collectives scaling: --rounds 0: must be from 1 to 100",
        "scaling --alpha soon | collectives scaling: --alpha, --bandwidth: ",
        "scaling --chart x.gif | collectives scaling: --chart x.gif: must end with .png or .svg",
        "update --model vgg | collectives update: --model: 'vgg' is none of resnet50, bert-large",
        "update --optimizer sgd | collectives update: --optimizer: 'sgd' is none of momentum, adam, lars, lamb",
        "update --ranks 0 | collectives update: --ranks 0: must be from 1 to 64",
        "update --scale 0 | collectives update: --scale 0: must be from 1 to 1000000",
        "update --rounds 0 | collectives update: --rounds 0: must be from 1 to 1000",
        "update --model bert-large --ranks 64 | collectives update: --ranks 64 of bert-large take 3",
        "auc --examples 10 | collectives auc: --examples 10: must be from 1000 to 1000000000",
        "auc --ranks 65 | collectives auc: --ranks 65: must be from 1 to 64",
        "auc --rounds 0 | collectives auc: --rounds 0: must be from 1 to 1000",
        "auc --examples 1000000000 | collectives auc: --examples 1000000000 take 42,915 MiB, the heap has",
        "perf --servers 2 | collectives perf: --servers goes with --algorithm parameter-server",
        "perf --algorithm parameter-server --dedicated | collectives perf: --servers goes with --algorithm parameter-server",
        "perf --algorithm parameter-server --servers 1 --proxies 2 | collectives perf: --proxies 2: must be at least 1, and goes with",
        "perf --algorithm parameter-server --servers 1 --dedicated --proxies-in threads | collectives perf: --proxies-in threads goes with",
        "perf --workers-per-host 2 | collectives perf: --workers-per-host 2: must be at least 1, and goes with --servers",
        "perf -n 6 --algorithm parameter-server --servers 2 --dedicated --proxies 3 | collectives perf: --algorithm: parameter-server:0+2x3: from 1 to 6",
        "perf -n 5 --algorithm parameter-server --servers 1 --dedicated --proxies 3 | collectives perf: --algorithm: parameter server with 3 proxies, and 2 workers",
        "launch -n 4 --proxies 2 true | collectives launch: --proxies 2: must be at least 1, goes with --servers",
        "launch -n 4 --servers 2 --proxies 2 true | collectives launch: --proxies 2: must be at least 1, goes with --servers",
        "perf --workers 0 | collectives perf: --workers 0: must be from 1 to 256",
        "perf --workers 200 --algorithm parameter-server:0+n | collectives perf: --workers with servers: 400 ranks: at most 256",
        "perf --link-bandwidth 200 | collectives perf: --link-bandwidth: '200' is no rate of a link; write it as 200Mbit/s",
        "perf --link-bandwidth 1Gbit/s --transport shm | collectives perf: --link-bandwidth: each rank is a process on a host",
        "perf --link-bandwidth 1Gbit/s --placement threads | collectives perf: --link-bandwidth: each rank is a process on a",
        "perf --link-bandwidth 1Gbit/s -n 4 --algorithm parameter-server --servers 1 --workers-per-host 3 | collectives perf: --link-bandwidth: each rank is a process on a host of its own; leave out --proxies",
        "perf --link-bandwidth 1Gbit/s --start-up | collectives perf: --start-up is of --ranks on this host",
        "perf --scale 2 | collectives perf: --scale, --backward and --lanes are of --tensors",
        "perf --tensors table2 --lanes 65 | collectives perf: --lanes 65: must be from 1 to 64",
        "perf --tensors table2 --way one --lanes 4 | collectives perf: --lanes: is of --way fused, not of [one]",
        "perf --tensors table2 --scale 0 | collectives perf: --scale 0: must be from 1 to 1000000",
        "perf --tensors table2 --way atomic | collectives perf: --way atomic needs dedicated servers that are no workers",
        "perf --tensors table2 --way negotiated -n 4 --algorithm parameter-server:0+2 | collectives perf: --way negotiated needs",
        "launch -n 2 --servers 2 true | collectives launch: --servers 2: must be from 1 to 1",
        "chaos --faults x | collectives chaos: --faults: 'x' is no whole number",
        "chaos --faults -1 | collectives chaos: --faults -1: must be from 0 to 100000",
        "chaos --faults 0 | collectives chaos: --faults 0 and --pauses 0: there is nothing to do",
        "chaos --ranks 2 | collectives chaos: --ranks 2: must be from 3 to 64",
        "chaos --kinds maim | collectives chaos: --kinds: 'maim' is none of kill, stop, reset",
        "chaos --silence soon | collectives chaos: --silence: 'soon' is no time; write seconds as 3, 0.5 or 3s, minutes",
        "chaos --silence 0.05 | collectives chaos: --silence 0.05: must be from 0.1 to 600 seconds",
        "chaos --pauses 1 --pause 5s | collectives chaos: --pause 5: must be less than the silence limit of 5 seconds",
        "flight | collectives flight: missing required parameter: 'FILE|DIRECTORY'",
        "flight --last 0 x | collectives flight: --last 0: must be from 1 to 1000000",
        "flight --format xml x | collectives flight: --format: 'xml' is none of table, tsv, json",
        "demo --placement moon | collectives demo: --placement: 'moon' is none of processes, threads",
        "demo --model bert-large --ranks 64 --placement threads,processes | collectives demo: 64 ranks of BERT-large take",
      })
  void wrongUsageIsOneLineAnd2(String arguments, String start) {
    Invocation wrong = Invocation.of(arguments.split(" "));
    assertEquals(2, wrong.status(), wrong.err());
    assertEquals("", wrong.out());
    assertEquals(1, wrong.err().lines().count(), wrong.err());
    assertTrue(wrong.err().startsWith(start), wrong.err());
    assertTrue(wrong.err().endsWith("--help'\n"), wrong.err());
  }
}
