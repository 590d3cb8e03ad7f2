package io.collectives.bench;

import picocli.CommandLine.Option;

/** What every command has. */
final class HelpOption {
  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Print this help.")
  private boolean help;
}
