package io.collectives.bench;

import io.collectives.bench.perf.CoreDistance;
import io.collectives.bench.perf.CoreProbe;
import io.collectives.bench.report.Progress;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** For which distance of cores to wait before something is measured. */
final class CoreWait {
  @Option(
      names = "--wait-near",
      arity = "0..1",
      fallbackValue = "60",
      defaultValue = "0",
      paramLabel = "SECONDS",
      description =
          "Before each measurement wait until the cores share a cache, at most so long. Default without a number: 60.")
  private double nearSeconds;

  @Option(
      names = "--wait-far",
      arity = "0..1",
      fallbackValue = "60",
      defaultValue = "0",
      paramLabel = "SECONDS",
      description =
          "Before each measurement wait until the cores share no cache, at most so long. Default without a number: 60.")
  private double farSeconds;

  /** Refuses times that are none, and both options together. */
  void check(CommandSpec spec) {
    Usage.requireSeconds(nearSeconds, spec, "--wait-near");
    Usage.requireSeconds(farSeconds, spec, "--wait-far");
    Usage.require(
        nearSeconds == 0 || farSeconds == 0,
        spec,
        "--wait-near with --wait-far: cores are one or the other; give one");
  }

  /**
   * Waits, if that is wanted, and says so if it was in vain. What was measured a moment ago, after
   * the line before, counts.
   *
   * @return the time from core to core then, in nanoseconds
   */
  double await(CoreProbe probe, CommandSpec spec, Progress progress) throws InterruptedException {
    double seconds = Math.max(nearSeconds, farSeconds);
    if (seconds == 0) {
      return probe.recent();
    }
    CoreDistance wanted = farSeconds > 0 ? CoreDistance.FAR : CoreDistance.NEAR;
    double nanos = probe.await(wanted, (long) (seconds * 1e9));
    if (CoreDistance.of(nanos) != wanted) {
      progress.say(
          spec.qualifiedName()
              + ": the cores were not "
              + wanted
              + " within "
              + seconds
              + " s; measuring nevertheless");
    }
    return nanos;
  }
}
