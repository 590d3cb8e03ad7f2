package io.collectives.bench;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code collectives jmh}: the microbenchmarks. */
@Command(
    name = "jmh",
    customSynopsis = "collectives jmh [--help] [ARGUMENT...]",
    descriptionHeading = "%n",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Run the microbenchmarks of this program with JMH.",
      "",
      "AllReduceBenchmark runs whole all-reduces between threads of one JVM, over every transport."
    },
    footer = {
      "  collectives jmh -l                                              list the benchmarks",
      "  collectives jmh AllReduce -p ranks=2 -p bytes=8,1M -prof gc     and what they allocate",
      "  collectives jmh -h                                              all that JMH accepts"
    })
final class Jmh implements Callable<Integer> {
  @Option(names = "--help", usageHelp = true, description = "Print this help; -h prints JMH's.")
  private boolean help;

  @Parameters(
      arity = "0..*",
      paramLabel = "ARGUMENT",
      description = "Passed on to JMH as they are.")
  private List<String> arguments = List.of();

  @Override
  public Integer call() throws IOException {
    org.openjdk.jmh.Main.main(
        arguments.toArray(String[]::new)); // ends this JVM with status 1 when something is wrong
    return 0;
  }
}
