package io.collectives.bench.chaos;

import io.collectives.bench.chaos.ChaosJob.UnexpectedLineException;
import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.Fault.Phase;
import io.collectives.bench.chaos.FaultOutcome.Counts;
import io.collectives.bench.chaos.FaultOutcome.Stage;
import io.collectives.bench.network.Network;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A job that goes through one fault.
 *
 * <p>Times run from just before the fault until a worker says so, by the clock of this host, which
 * all read; while a job joins, from when the last survivor had joined if that is later, because
 * before it learns of faults by the rendezvous only.
 *
 * <p>After a STOP the victim is continued once the others have summed without it: it must find that
 * it is the one who was given up, or, if it had not made a call yet, at least that it cannot go on.
 * After a RESET or a CUT the higher of the two ranks must be the one that is lost, for itself and
 * for all others. An isolated rank cannot know whose fault it is, but it must not go on alone.
 *
 * <p>If a job cannot join because of the fault, there is nobody to shrink: all must say who is
 * missing, and end. When rank 0 is hit in the very moment in which it tells who has come, some have
 * joined and others not; then whoever has joined may go on or not.
 */
public final class FaultRun {
  private static final Duration START_LIMIT = Duration.ofSeconds(60);

  private final Fault fault;
  private final ChaosJob job;
  private final @Nullable Network network;
  private final List<String> complaints = new ArrayList<>();
  private long faultMicros;

  /** From when times run: the fault, or when the last of the others had joined. */
  private long sinceMicros;

  private long knownMicros;
  private long sumMicros;
  private int culprits;
  private int culpritsRight;
  private int sums;
  private int wrongSums;
  private int falseAlarms;
  private boolean told;
  private Stage stage;

  /** Whom all must name. */
  private final int guilty;

  private final Set<Integer> hanging = new TreeSet<>();

  /** The ranks that live, but could not join. */
  private final Set<Integer> outside = new TreeSet<>();

  private final Set<Integer> survivors = new TreeSet<>();

  /** The survivors of which no fault is known. */
  private final Set<Integer> good = new TreeSet<>();

  private FaultRun(Fault fault, ChaosJob job, @Nullable Network network) {
    this.fault = fault;
    this.job = job;
    this.network = network;
    for (int rank = 0; rank < job.ranks(); rank++) {
      good.add(rank);
    }
    guilty = fault.guilty();
    stage = fault.phase() == Phase.JOINING ? Stage.MET : Stage.WORKING;
  }

  /**
   * Runs it. A worker that behaves badly is a complaint, not an exception.
   *
   * @throws IOException if the processes cannot be started or signalled
   */
  public static FaultOutcome run(Fault fault, ChaosSettings settings) throws IOException {
    Duration limit =
        START_LIMIT.plus(settings.silenceLimit().multipliedBy(3)).plus(settings.joinTimeout());
    ChaosSettings waiting = fault.phase() == Phase.JOINING ? settings : settings.patient();
    // Other algorithms need not have linked the two.
    ChaosSettings own = fault.kind().hitsPair() ? waiting.byRing() : waiting;
    try (Network network = fault.kind().needsNetwork() ? new Network(settings.ranks()) : null;
        ChaosJob job = new ChaosJob(own, limit, network, Map.of())) {
      FaultRun run = new FaultRun(fault, job, network);
      run.run();
      return run.outcome(settings.site());
    }
  }

  /**
   * Returns how many milliseconds ranks take here from their start until they have met, so that
   * faults can come meanwhile.
   *
   * @throws IOException if they do not
   */
  public static long meetMillis(ChaosSettings settings) throws IOException {
    try (ChaosJob job = ChaosJob.started(settings.patient(), START_LIMIT)) {
      long start = now();
      for (int rank = 0; rank < job.ranks(); rank++) {
        job.hear(rank, "joined");
      }
      return (now() - start) / 1_000;
    }
  }

  private void run() throws IOException {
    start(fault.startedBefore());
    if (fault.phase() == Phase.JOINING) {
      if (!pause()) {
        return;
      }
      strike();
      start(fault.startedAfter());
      join();
    } else {
      if (!ready()) {
        return;
      }
      strike();
    }
    if (!good.isEmpty()) {
      shrink();
      sum();
    }
    if (fault.kind() == Kind.STOP && stage.compareTo(Stage.MET) >= 0) {
      wake(fault.victim());
    } else if (fault.kind() == Kind.ISOLATE) {
      hear(fault.victim(), "lost");
      hear(fault.victim(), "out");
    }
    end();
  }

  private void start(List<Integer> ranks) throws IOException {
    for (int rank : ranks) {
      job.start(rank);
    }
  }

  /** Until the moment before the fault; whether all came so far. */
  private boolean ready() {
    each("joined");
    each("summing");
    if (good.size() < job.ranks()) {
      return false;
    }
    if (fault.phase() == Phase.IDLE) {
      job.tell(0, ChaosWorker.DRAIN);
      each("idle");
    } else if (!pause()) {
      return false;
    }
    return good.size() == job.ranks();
  }

  private boolean pause() {
    try {
      Thread.sleep(fault.delayMillis());
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void strike() throws IOException {
    faultMicros = now();
    sinceMicros = faultMicros;
    int victim = fault.victim();
    switch (fault.kind()) {
      case KILL -> job.kill(victim);
      case STOP -> Signal.STOP.send(job.process(victim));
      case RESET -> {
        if (Connections.reset(job.process(victim), job.process(fault.peer())) == 0) {
          throw new IOException("no connection between ranks " + victim + " and " + fault.peer());
        }
      }
      case CUT -> Objects.requireNonNull(network).cut(victim, fault.peer());
      case ISOLATE -> Objects.requireNonNull(network).isolate(victim);
    }
    for (int rank = 0; fault.phase() == Phase.IDLE && rank < job.ranks(); rank++) {
      if (fault.kind() != Kind.KILL || rank != victim) {
        job.tell(rank, ChaosWorker.GO);
      }
    }
  }

  /** All but the victim join, or say why they cannot. */
  private void join() {
    good.remove(fault.victim());
    for (int rank : List.copyOf(good)) {
      List<String> words = hear(rank, "joined", "unjoined");
      if (words.isEmpty()) {
        continue;
      }
      long micros = Long.parseLong(words.get(1));
      if (words.get(0).equals("joined")) {
        sinceMicros = Math.max(sinceMicros, micros);
      } else {
        unjoined(rank, micros, String.join(" ", words.subList(2, words.size())));
      }
    }
  }

  private void unjoined(int rank, long micros, String message) {
    good.remove(rank);
    outside.add(rank);
    JoinFailure failure = JoinFailure.parse(message);
    Stage told = failure.hadCome() ? Stage.ANNOUNCED : Stage.AWAITED;
    stage = told.compareTo(stage) < 0 ? told : stage;
    knownMicros = Math.max(knownMicros, micros - faultMicros);
    falseAlarms += micros < faultMicros ? 1 : 0;
    culprits++;
    if (failure.culprits().equals(Set.of(guilty))) {
      culpritsRight++;
    } else {
      complaints.add("rank " + rank + " did not name rank " + guilty + ", but said: " + message);
    }
  }

  /** All that live learn of the loss and shrink, or learn that they are the ones who are lost. */
  private void shrink() {
    if (!fault.kind().hitsPair()) {
      good.remove(fault.victim());
    }
    Map<Integer, Loss> named = new TreeMap<>();
    for (int rank : List.copyOf(good)) {
      heardOf(rank).ifPresent(loss -> named.put(rank, loss));
      culprits++;
    }
    List<String> losses = new ArrayList<>();
    for (int rank : List.copyOf(good)) {
      List<String> words = hear(rank, "shrunk", "out");
      if (words.size() == 4 && words.get(0).equals("shrunk")) {
        survivors.add(rank);
        losses.add(words.get(3));
      } else if (good.remove(rank) && rank != guilty && outside.isEmpty()) {
        complaints.add("rank " + rank + " was left out: " + String.join(" ", words));
      }
    }
    named.forEach(this::judge);
    sums = survivors.size();
    if (sums == 0 && outside.isEmpty()) {
      complaints.add("nobody survived");
    }
    String lost =
        Stream.concat(Stream.of(guilty), outside.stream())
            .sorted()
            .map(String::valueOf)
            .collect(Collectors.joining(","));
    if (!losses.stream().allMatch(lost::equals)) {
      complaints.add("the survivors shrank without " + String.join(" and ", losses));
    }
  }

  private void judge(int rank, Loss loss) {
    if (rank != guilty) {
      knownMicros = Math.max(knownMicros, loss.micros() - sinceMicros);
    }
    if (loss.culprit() == guilty) {
      culpritsRight++;
    } else {
      complaints.add(
          "rank " + rank + " lost rank " + loss.culprit() + " instead of rank " + guilty);
    }
  }

  /** Returns what a rank has lost, nothing if it does not say. */
  private Optional<Loss> heardOf(int rank) {
    List<String> words = List.of("summing");
    // While it joined there may have been time for some calls.
    for (int i = 0; i < 2 && words.equals(List.of("summing")); i++) {
      words = fault.phase() == Phase.JOINING ? hear(rank, "lost", "summing") : hear(rank, "lost");
    }
    if (words.size() != 4) {
      return Optional.empty();
    }
    Loss loss = new Loss(Long.parseLong(words.get(1)), Integer.parseInt(words.get(2)));
    falseAlarms += loss.micros() < faultMicros ? 1 : 0;
    return Optional.of(loss);
  }

  /** The moment at which a rank learnt of a loss. */
  private record Loss(long micros, int culprit) {}

  private void sum() {
    for (int rank : survivors) {
      List<String> words = hear(rank, "right");
      if (words.size() == 2) {
        sumMicros = Math.max(sumMicros, Long.parseLong(words.get(1)) - sinceMicros);
      }
    }
  }

  /** A rank that was stopped for too long finds that it is the one who was given up. */
  private void wake(int rank) throws IOException {
    Signal.CONT.send(job.process(rank));
    if (stage == Stage.WORKING) {
      culprits++;
      Optional<Loss> loss = heardOf(rank);
      if (loss.isPresent() && loss.get().culprit() == rank) {
        culpritsRight++;
      } else {
        loss.ifPresent(
            other -> complaints.add("rank " + rank + ", continued, lost rank " + other.culprit()));
      }
    } else {
      List<String> words = hear(rank, "joined", "unjoined");
      if (words.size() > 1 && words.get(0).equals("joined")) {
        heardOf(rank);
      }
    }
    job.kill(rank);
  }

  /** Checks that the ranks that are left end well, with right sums to the end. */
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
    job.awaitEnd(outside);
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
      wrongSums += e.isWrongSum() ? 1 : 0;
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

  private FaultOutcome outcome(Site site) {
    boolean allKnew = culprits > 0 && culpritsRight == culprits;
    for (int rank : job.hung()) {
      // Who was never told to end because of another is not to blame.
      if (told && good.contains(rank) || outside.contains(rank)) {
        hanging.add(rank);
        complain(rank, "rank " + rank + " hangs: it did not end in time");
      }
    }
    boolean allSummed = sums > 0 && good.size() == sums;
    return new FaultOutcome(
        site,
        fault,
        stage,
        allKnew ? OptionalLong.of(knownMicros) : OptionalLong.empty(),
        allSummed ? OptionalLong.of(sumMicros) : OptionalLong.empty(),
        new Counts(
            culprits,
            culpritsRight,
            sums,
            sums == 0 ? 0 : good.size(),
            wrongSums,
            falseAlarms,
            hanging.size()),
        complaints);
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }
}
