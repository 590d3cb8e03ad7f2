package io.collectives.bench;

import io.collectives.bench.perf.StartUp;
import io.collectives.bench.process.ClassArchive;
import io.collectives.bench.report.Progress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The options by which {@code perf} measures how long jobs take to start. */
final class StartUpOptions {
  /** The length of the run that tells the steady speed of a job that has just started. */
  private static final int STEADY_SECONDS = 5;

  @Option(
      names = "--start-up",
      arity = "0..1",
      fallbackValue = "5",
      paramLabel = "N",
      description =
          "Measure instead, N times, how long a job of processes takes from the start of "
              + "its JVMs to its first sum, over --transport or over each; and until its sums "
              + "are steady: the first 100 whose median is at most 1/0.9 of the median of the "
              + "last quarter of 5 s of sums. Default without a number: 5.")
  private Optional<Integer> startUps = Optional.empty();

  @Option(
      names = "--aot",
      paramLabel = "FILE",
      description =
          "With --start-up: JVMs use the archive of classes in FILE, which is made first "
              + "if it is not there or does not fit; see launch --aot.")
  private Optional<Path> archiveFile = Optional.empty();

  /** Returns whether starts are measured. */
  boolean isWanted() {
    return startUps.isPresent();
  }

  /** Checks the options. */
  void check(CommandSpec spec) {
    Usage.require(archiveFile.isEmpty() || isWanted(), spec, "--aot goes with --start-up");
    int times = startUps.orElse(1);
    Usage.require(
        times >= 1 && times <= 1_000, spec, "--start-up " + times + ": must be from 1 to 1000");
  }

  /**
   * Measures; this is wanted.
   *
   * @param rankCounts of the jobs
   * @param wantedTransport if none, those of processes in turn
   */
  StartUpTable measured(
      CommandSpec spec, List<Integer> rankCounts, Optional<Transport> wantedTransport)
      throws IOException {
    int times = startUps.orElseThrow();
    List<Transport> transports =
        wantedTransport
            .map(List::of)
            .orElse(List.of(Transport.AUTO, Transport.SHM, Transport.UNIX, Transport.TCP));
    List<String> command = StartUp.command(STEADY_SECONDS);
    Optional<ClassArchive> archive =
        archiveFile.map(
            file ->
                new ClassArchive(
                    file,
                    command,
                    text -> spec.commandLine().getErr().println("collectives perf: " + text)));
    StartUpTable table;
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      if (archive.isPresent() && !archive.get().fits()) {
        progress.step("an archive of classes");
        ClassArchive made = archive.get();
        StartUp.measure(
            rankCounts.get(0),
            rank -> rank == 0 ? made.listingCommand() : command,
            transports.get(0).toString(),
            System.err);
        made.make();
      }
      List<String> measuredCommand = archive.map(ClassArchive::command).orElse(command);
      progress.expect((double) rankCounts.size() * transports.size() * times);
      table = new StartUpTable(archive.isPresent() && archive.get().fits());
      for (int ranks : rankCounts) {
        for (Transport transport : transports) {
          List<StartUp> measured = new ArrayList<>();
          for (int i = 1; i <= times; i++) {
            progress.step(ranks + " ranks over " + transport + ": start " + i + " of " + times);
            measured.add(
                StartUp.measure(ranks, rank -> measuredCommand, transport.toString(), System.err));
            progress.done(1);
          }
          table.row(transport, ranks, measured);
        }
      }
    }
    return table;
  }
}
