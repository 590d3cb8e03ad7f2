package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** The script that completes words, run by bash, and the pages of the manual, read by groff. */
@Tag("once")
class ShellTest {
  @TempDir private Path directory;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "si | simulate",
        "ver | verify",
        "--ver | --version",
        "help acc | accuracy",
        "man acc | accuracy",
        "perf --fra | --frame-length",
        "perf --check --pla | --placement",
        "perf -n 2 --pla | --placement",
        // Both are called TYPE in the help.
        "perf --type fl | float32 float64 float16",
        "perf --wire-type in | int8",
        "perf --type = bf | bfloat16",
        "perf --algorithm ring,halv | ring,halving-doubling",
        "simulate --algorithm par | parameter-server",
        "simulate --algorithm tor | torus",
        // Here the shell completes names of files.
        "perf --chart fi | ''",
        "launch -n 4 -- java --v | ''",
        "demo no-such | ''",
      })
  void bashCompletes(String words, String wanted) throws Exception {
    assumeTrue(has("bash"), "there is no bash");
    Path script =
        Files.writeString(
            directory.resolve("script"),
            Invocation.of("completion").out()
                + "COMP_WORDS=(collectives \"$@\"); COMP_CWORD=$#; _collectives\n"
                + "echo \"${COMPREPLY[*]}\"\n");
    String[] command =
        Stream.concat(Stream.of("bash", "-u", script.toString()), Stream.of(words.split(" ")))
            .toArray(String[]::new);
    assertEquals(wanted, output(command).strip());
  }

  /** Commands that are hidden are not completed; all others are, with all their options. */
  @Test
  void everyCommandIsCompleted() {
    String script = Invocation.of("completion").out();
    assertTrue(!script.contains("-rank)"), script);
    CommandLine line = Main.commandLine();
    for (Map.Entry<String, CommandLine> entry : line.getSubcommands().entrySet()) {
      if (!entry.getValue().getCommandSpec().usageMessage().hidden()) {
        String name = entry.getKey();
        assertTrue(script.contains("    " + name + ")\n") || name.matches("help|man"), name);
        entry
            .getValue()
            .getCommandSpec()
            .options()
            .forEach(
                option -> assertTrue(option.hidden() || script.contains(option.longestName())));
      }
    }
  }

  @Test
  void everyPageOfTheManualIsWhole() throws Exception {
    CommandLine line = Main.commandLine();
    for (String name : line.getSubcommands().keySet()) {
      String page = Invocation.of("man", name).out();
      assertTrue(page.startsWith(".TH \"COLLECTIVES\\-"), page);
      if (has("groff")) {
        Path file = Files.writeString(directory.resolve(name), page);
        assertEquals("", output("groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z", file.toString()));
      }
    }
    String perf = Invocation.of("man", "perf").out();
    for (String part : List.of("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES")) {
      assertTrue(perf.contains(".SH " + part + "\n"), perf);
    }
    assertTrue(perf.contains("\\fB\\-\\-type\\fR \\fITYPE,...\\fR\n"), perf);
    String all = Invocation.of("man").out();
    assertTrue(all.contains(".SH COMMANDS\n.TP\n\\fBdemo\\fR\nAverage"), all);
    assertTrue(all.contains(".SH EXIT STATUS\n0 all went well"), all);
  }

  @Test
  void aPageOfNoCommandIsWrongUsage() {
    Invocation wrong = Invocation.of("man", "nothing");
    assertEquals(2, wrong.status());
    assertTrue(wrong.err().startsWith("collectives man: there is no command 'nothing'; there are"));
  }

  private static boolean has(String program) {
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
  }

  /** Returns what a program prints, errors as well. */
  private static String output(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), output);
    return output;
  }
}
