package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Units;
import io.collectives.training.evaluation.RocAuc;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives auc}: how long the exact area under a curve of many scores takes. */
@Command(
    name = "auc",
    customSynopsis = "collectives auc [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Measure how long the exact area under the receiver operating characteristic of many scores takes.",
      "",
      "Ranks are threads of this JVM, and have equal parts of the scores, which are spread "
          + "evenly from 0 to 1; an example is positive with the probability that its score says."
          + " So the area is 5/6, but for chance, and the same to the last bit with any number of"
          + " ranks."
    },
    footer = {
      "  collectives auc                                          90 million scores, 4 ranks",
      "  collectives auc --examples 1000000 --ranks 1,2,4",
      "",
      "Exit status: 0 when all areas are the same and as expected; 1 when not; 2 wrong usage."
    })
final class Auc implements Callable<Integer> {
  private static final double EXPECTED = 5.0 / 6;

  /** Ranks that share few processors wait long for the one that sorts last. */
  private static final Duration LIMIT = Duration.ofMinutes(10);

  @Spec private CommandSpec spec;

  @Option(
      names = "--examples",
      defaultValue = "90000000",
      paramLabel = "N",
      description =
          "How many scores all ranks have together, from 1000 to 1000000000. Default: ${DEFAULT-VALUE}.")
  private int examples;

  @Option(
      names = {"-n", "--ranks"},
      split = ",",
      defaultValue = "4",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description = "How many ranks, from 1 to 64. Default: ${DEFAULT-VALUE}.")
  private List<Integer> ranks = List.of();

  @Option(
      names = "--rounds",
      defaultValue = "3",
      paramLabel = "N",
      description = "How often each is measured, from 1 to 1000. Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Mixin private HelpOption help;

  @Override
  public Integer call() {
    Usage.require(
        examples >= 1000 && examples <= 1_000_000_000,
        spec,
        "--examples " + examples + ": must be from 1000 to 1000000000");
    Usage.require(
        rounds >= 1 && rounds <= 1000, spec, "--rounds " + rounds + ": must be from 1 to 1000");
    for (int count : ranks) {
      Usage.require(count >= 1 && count <= 64, spec, "--ranks " + count + ": must be from 1 to 64");
    }
    // A score and its label, what sorting takes, and what is sent and received of distinct scores.
    long needed = 45L * examples;
    Usage.require(
        needed < Runtime.getRuntime().maxMemory(),
        spec,
        String.format(
            Locale.ROOT,
            "--examples %d take %,d MiB, the heap has %,d: set COLLECTIVES_JAVA_OPTS=-Xmx...",
            examples,
            needed >> 20,
            Runtime.getRuntime().maxMemory() >> 20));
    PrintWriter out = spec.commandLine().getOut();
    Columns table =
        new Columns(
            List.of(
                Columns.Column.numbers("ranks", 5),
                Columns.Column.numbers("round", 5),
                Columns.Column.numbers("examples", 13),
                Columns.Column.numbers("time", 8),
                Columns.Column.numbers("area", 18)));
    out.println(table.header());
    List<Double> areas = new ArrayList<>();
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      progress.expect((double) ranks.size() * rounds);
      for (int count : ranks) {
        progress.step(count + " ranks");
        Collectives.inThreads(
            count,
            world ->
                measure(world.within(LIMIT), areas, cells -> row(out, table, cells, progress)));
      }
    }
    boolean same = areas.stream().distinct().count() == 1;
    // The deviation of a mean of so many, several times over.
    boolean near = Math.abs(areas.get(0) - EXPECTED) < 3 / Math.sqrt(examples);
    out.println();
    out.println(
        (same && near ? "passed: " : "FAILED: ")
            + (same ? "all areas are the same to the last bit" : "areas differ")
            + (near ? ", and as expected" : ", and not 5/6, as was expected"));
    out.println(Provenance.line());
    out.flush();
    return same && near ? 0 : ExitStatus.FAILED;
  }

  private void measure(Communicator world, List<Double> areas, Consumer<List<String>> row) {
    int size = world.size();
    int first = (int) ((long) examples * world.rank() / size);
    int count = (int) ((long) examples * (world.rank() + 1) / size) - first;
    float[] scores = new float[count];
    boolean[] positives = new boolean[count];
    for (int i = 0; i < count; i++) {
      // By the number of the example, so that all numbers of ranks have the same ones.
      long mixed = mixed(first + i);
      scores[i] = (mixed >>> 40) * 0x1p-24f;
      positives[i] = (mixed & 0xff_ffff) * 0x1p-24f < scores[i];
    }
    for (int round = 1; round <= rounds; round++) {
      world.barrier();
      long start = System.nanoTime();
      double area = RocAuc.exact(world, scores, positives, count);
      long[] nanos = {System.nanoTime() - start};
      world.allReduce(nanos, ReduceOp.MAX);
      if (world.rank() == 0) {
        areas.add(area);
        row.accept(
            List.of(
                Integer.toString(size),
                Integer.toString(round),
                Units.grouped(examples),
                Units.time(nanos[0]),
                Double.toString(area)));
      }
    }
  }

  private static void row(PrintWriter out, Columns table, List<String> cells, Progress progress) {
    progress.clear();
    out.println(table.line(cells));
    out.flush();
    progress.done(1);
    progress.step(cells.get(0) + " ranks, after round " + cells.get(1));
  }

  /** Steele, Lea and Flood 2014. */
  private static long mixed(long number) {
    long z = number * 0x9e3779b97f4a7c15L;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }
}
