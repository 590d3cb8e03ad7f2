package io.collectives.bench.chaos;

import io.collectives.bench.chaos.ChaosJob.UnexpectedLineException;
import io.collectives.bench.chaos.Fault.Kind;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * One job that goes through one fault.
 *
 * <p>Times run from just before the fault until a worker says so, by the clock of this host, which
 * all read. After a STOP the victim is continued once the others have summed without it: it must
 * find that it is the one who was given up. After a RESET the higher of the two ranks must be the
 * one that is lost, for itself and for all others.
 */
public final class FaultRun {
  private static final Duration START_LIMIT = Duration.ofSeconds(60);

  private final Fault fault;
  private final ChaosJob job;
  private final List<String> complaints = new ArrayList<>();
  private long faultMicros;
  private long knownMicros;
  private long sumMicros;
  private int culprits;
  private int culpritsRight;
  private int sums;
  private int falseAlarms;
  private boolean told;
  private final Set<Integer> hanging = new TreeSet<>();

  /** Whom all must name. */
  private final int guilty;

  private final Set<Integer> survivors = new TreeSet<>();

  /** Those survivors of which nothing bad is known. */
  private final Set<Integer> good = new TreeSet<>();

  private FaultRun(Fault fault, ChaosJob job) {
    this.fault = fault;
    this.job = job;
    for (int rank = 0; rank < job.ranks(); rank++) {
      good.add(rank);
    }
    guilty =
        fault.kind() == Kind.RESET
            ? Math.max(fault.victim(), fault.peer(job.ranks()))
            : fault.victim();
  }

  /**
   * Runs it. A worker that behaves badly is a complaint, not an exception.
   *
   * @param command runs a {@link ChaosWorker} in a JVM of its own
   * @param silenceLimit that of the workers
   * @throws IOException if the processes cannot be started or signalled
   */
  public static FaultOutcome run(
      Fault fault, int ranks, List<String> command, Duration silenceLimit, PrintStream err)
      throws IOException {
    Duration limit = START_LIMIT.plus(silenceLimit.multipliedBy(3));
    try (ChaosJob job = new ChaosJob(ranks, command, silenceLimit, limit, err)) {
      FaultRun run = new FaultRun(fault, job);
      run.run();
      return run.outcome();
    }
  }

  private void run() throws IOException {
    if (!ready()) {
      return;
    }
    strike();
    shrink();
    sum();
    if (fault.kind() == Kind.STOP) {
      wake(fault.victim());
    }
    end();
  }

  /** Until the moment before the fault; whether all came so far. */
  private boolean ready() throws IOException {
    each("summing");
    if (fault.idle()) {
      if (good.size() == job.ranks()) {
        job.tell(0, ChaosWorker.DRAIN);
        each("idle");
      }
    } else {
      try {
        Thread.sleep(fault.delayMillis());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
    return good.size() == job.ranks();
  }

  private void strike() throws IOException {
    faultMicros = now();
    int victim = fault.victim();
    switch (fault.kind()) {
      case KILL -> job.kill(victim);
      case STOP -> Signal.STOP.send(job.process(victim));
      case RESET -> {
        int peer = fault.peer(job.ranks());
        if (Connections.reset(job.process(victim), job.process(peer)) == 0) {
          throw new IOException("no connection between ranks " + victim + " and " + peer);
        }
      }
    }
    for (int rank = 0; fault.idle() && rank < job.ranks(); rank++) {
      if (fault.kind() != Kind.KILL || rank != victim) {
        job.tell(rank, ChaosWorker.GO);
      }
    }
  }

  /** All that live learn of the loss and shrink, or learn that they are the ones who are lost. */
  private void shrink() {
    if (fault.kind() != Kind.RESET) {
      good.remove(fault.victim());
    }
    Map<Integer, Integer> named = new TreeMap<>();
    for (int rank : List.copyOf(good)) {
      heardOf(rank).ifPresent(culprit -> named.put(rank, culprit));
      culprits++;
    }
    List<String> losses = new ArrayList<>();
    for (int rank : List.copyOf(good)) {
      List<String> words = hear(rank, "shrunk", "out");
      if (words.size() == 4 && words.get(0).equals("shrunk")) {
        survivors.add(rank);
        losses.add(words.get(3));
      } else if (good.remove(rank) && rank != guilty) {
        complaints.add("rank " + rank + " was left out");
      }
    }
    sums = survivors.size();
    if (sums == 0) {
      complaints.add("nobody survived");
      return;
    }
    named.forEach(this::judge);
    if (!losses.stream().allMatch(Integer.toString(guilty)::equals)) {
      complaints.add("the survivors shrank without " + String.join(" and ", losses));
    }
  }

  private void judge(int rank, int culprit) {
    if (culprit == guilty) {
      culpritsRight++;
    } else {
      complaints.add("rank " + rank + " lost rank " + culprit + " instead of rank " + guilty);
    }
  }

  /** Whom a rank has lost, nothing if it does not say. */
  private Optional<Integer> heardOf(int rank) {
    List<String> words = hear(rank, "lost");
    if (words.size() != 4) {
      return Optional.empty();
    }
    if (rank != fault.victim()) {
      knownMicros = Math.max(knownMicros, Long.parseLong(words.get(1)) - faultMicros);
    }
    return Optional.of(Integer.valueOf(words.get(2)));
  }

  private void sum() {
    for (int rank : survivors) {
      List<String> words = hear(rank, "right");
      if (words.size() == 2) {
        sumMicros = Math.max(sumMicros, Long.parseLong(words.get(1)) - faultMicros);
      }
    }
  }

  /** A rank that was stopped for too long finds that it is the one who was given up. */
  private void wake(int rank) throws IOException {
    Signal.CONT.send(job.process(rank));
    culprits++;
    Optional<Integer> culprit = heardOf(rank);
    if (culprit.isPresent() && culprit.get() == rank) {
      culpritsRight++;
    } else {
      culprit.ifPresent(
          other -> complaints.add("rank " + rank + ", continued, lost rank " + other));
    }
    job.kill(rank);
  }

  /** Whoever has come so far must end well, with right sums to the end. */
  private void end() {
    for (int rank : List.copyOf(good)) {
      hear(rank, "summing");
    }
    if (good.size() == survivors.size() && !good.isEmpty()) {
      told = true;
      job.tell(good.iterator().next(), ChaosWorker.END);
      for (int rank : survivors) {
        hear(rank, "done");
      }
      job.awaitEnd(survivors);
    }
  }

  private void each(String word) {
    for (int rank = 0; rank < job.ranks(); rank++) {
      hear(rank, word);
    }
  }

  /** The words of the next line; none, and a complaint, if it is another. */
  private List<String> hear(int rank, String... expected) {
    try {
      return job.hear(rank, expected);
    } catch (UnexpectedLineException e) {
      if (e.isLoss() && faultMicros == 0) {
        falseAlarms++;
      }
      complain(rank, String.valueOf(e.getMessage()));
    } catch (IOException e) {
      boolean hangs = job.hung().contains(rank);
      if (hangs) {
        hanging.add(rank);
      }
      complain(
          rank,
          hangs
              ? "rank " + rank + " hangs: it did not say '" + expected[0] + "' in time"
              : String.valueOf(e.getMessage()));
    }
    return List.of();
  }

  private void complain(int rank, String text) {
    good.remove(rank);
    complaints.add(text);
  }

  private FaultOutcome outcome() {
    boolean allKnew = culprits > 0 && culpritsRight == culprits;
    for (int rank : job.hung()) {
      // Who was never told to end because of another is not to blame.
      if (told && good.contains(rank)) {
        hanging.add(rank);
        complain(rank, "rank " + rank + " hangs: it did not end in time");
      }
    }
    boolean allSummed = sums > 0 && good.size() == sums;
    return new FaultOutcome(
        fault,
        allKnew ? OptionalLong.of(knownMicros) : OptionalLong.empty(),
        allSummed ? OptionalLong.of(sumMicros) : OptionalLong.empty(),
        culprits,
        culpritsRight,
        sums,
        sums == 0 ? 0 : good.size(),
        falseAlarms,
        hanging.size(),
        complaints);
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }
}
