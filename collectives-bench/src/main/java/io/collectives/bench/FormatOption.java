package io.collectives.bench;

import picocli.CommandLine.Option;

/** The option for the format in which a command prints its figures. */
final class FormatOption {
  @Option(
      names = "--format",
      defaultValue = "table",
      paramLabel = "FORMAT",
      description = "Of the figures: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private Format wanted = Format.TABLE;

  Format wanted() {
    return wanted;
  }
}
