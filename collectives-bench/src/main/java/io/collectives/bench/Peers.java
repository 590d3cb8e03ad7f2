package io.collectives.bench;

import io.collectives.Collective;
import io.collectives.bench.compare.Medium;
import io.collectives.bench.compare.Peer;
import io.collectives.bench.compare.PeerBuild;
import io.collectives.bench.compare.PeerJob;
import io.collectives.bench.compare.PeerRanks;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.perf.Ranks;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Progress;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The variants of peers whose ranks wait for work. One that fails or is wrong is named, ended and
 * left out from then on. To be used by one thread.
 */
final class Peers implements AutoCloseable {
  private final PeerBuild build;
  private final Medium medium;
  private final Duration limit;
  private final Progress progress;
  private final List<Running> waiting = new ArrayList<>();
  private boolean wrong;

  /**
   * Makes a set that has no variants yet.
   *
   * @param build where the peers have been prepared
   * @param limit how long they may take for an answer
   */
  Peers(PeerBuild build, Medium medium, Duration limit, Progress progress) {
    this.build = build;
    this.medium = medium;
    this.limit = limit;
    this.progress = progress;
  }

  /** A variant of a peer, in processes of its own. */
  private record Running(Peer peer, PeerJob job, Ranks ranks) {}

  private static String name(Peer peer, PeerJob job) {
    return peer + " (" + job.collective() + ", " + job.variant() + ", " + job.ranks() + " ranks)";
  }

  /**
   * Starts all variants that a peer has of a collective.
   *
   * @param cases what each runs first, the same time each
   * @param warmUpNanos how long they take together, of a peer that compiles while it runs
   */
  void enter(Peer peer, Collective collective, int ranks, List<PerfCase> cases, long warmUpNanos)
      throws Exception {
    for (String variant : peer.variants(collective, medium)) {
      enter(peer, new PeerJob(collective, variant, medium, ranks), cases, warmUpNanos);
    }
  }

  private void enter(Peer peer, PeerJob job, List<PerfCase> cases, long warmUpNanos)
      throws Exception {
    progress.step("starting " + name(peer, job));
    Ranks started;
    try {
      started = PeerRanks.start(peer, build, job, limit);
    } catch (IOException e) {
      Compare.without(progress, name(peer, job), String.valueOf(e.getMessage()));
      return;
    }
    try {
      started.warmUp(cases, peer.warmUp(warmUpNanos));
      waiting.add(new Running(peer, job, started));
    } catch (IOException e) {
      started.close();
      Compare.without(progress, name(peer, job), String.valueOf(e.getMessage()));
    }
  }

  /** Returns whether a variant of a peer is left. */
  boolean has(Peer peer) {
    return waiting.stream().anyMatch(running -> running.peer() == peer);
  }

  /**
   * Returns the medians, in nanoseconds, of a peer's variants.
   *
   * @param without variants that are not measured
   */
  Map<String, Long> measure(Peer peer, PerfCase work, Set<String> without) throws Exception {
    Map<String, Long> medians = new LinkedHashMap<>();
    for (Iterator<Running> i = waiting.iterator(); i.hasNext(); ) {
      Running running = i.next();
      if (running.peer() != peer || without.contains(running.job().variant())) {
        continue;
      }
      String name = name(peer, running.job());
      try {
        CaseResult result = running.ranks().measure(work);
        if (Compare.isRight(result, name, progress)) {
          medians.put(running.job().variant(), result.times().medianNanos());
          continue;
        }
        wrong = true;
      } catch (IOException e) {
        Compare.without(progress, name, new ByteSize(work.bytes()) + ": " + e.getMessage());
      }
      i.remove();
      running.ranks().close();
    }
    return medians;
  }

  /** Returns whether a result was wrong. */
  boolean wereWrong() {
    return wrong;
  }

  /** Ends all who wait; others can be started then. */
  @Override
  public void close() {
    waiting.forEach(running -> running.ranks().close());
    waiting.clear();
  }
}
