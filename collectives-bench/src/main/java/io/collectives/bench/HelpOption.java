package io.collectives.bench;

import picocli.CommandLine.Option;

/** The option {@code --help}, which every command has. */
final class HelpOption {
  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Print this help.")
  private boolean help;
}
