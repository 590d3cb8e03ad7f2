package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Statistics;
import io.collectives.bench.network.MeshLinks;
import io.collectives.bench.network.MeshNetwork;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A rank's part in a case. All ranks of the job call the same method with the same case; whatever
 * depends on a clock is decided by rank 0 and told to the others by an all-reduce, so that all make
 * the same calls. Ranks that the case has no use for only keep step with the others.
 *
 * <p>A barrier precedes each iteration and is not timed. Each rank times its own call; afterwards
 * the times of an iteration are combined by their maximum.
 */
public final class CaseRun implements AutoCloseable {
  /** So that a large payload has a median. */
  private static final int LEAST_ITERATIONS = 9;

  /** So that the times themselves stay small. */
  private static final int MOST_ITERATIONS = 100_000;

  private static final int FIRST_ITERATIONS = 3;

  /** The times that are combined by a call, few enough that it goes as short ones do. */
  private static final int COMBINED = 1_000;

  private static final int MOST_TUNINGS = 3;

  /**
   * Ranks that share few processors wait long for the one that is checked last; a dead one is
   * noticed anyway.
   */
  private static final Duration LIMIT = Duration.ofMinutes(10);

  private final Communicator world;
  private final PerfCase work;

  /** The ranks that take part together with this one. */
  private final @Nullable Communicator members;

  private final @Nullable Operation operation;

  private CaseRun(Communicator world, PerfCase work) {
    this.world = world.within(LIMIT);
    this.work = work;
    Optional<int[]> group = group();
    if (group.isEmpty()) {
      members = null;
      operation = null;
      return;
    }
    members = isWholeJob(group.get()) ? this.world : this.world.group(group.get());
    operation = Operation.of(members.using(algorithm()), work);
  }

  /** The ranks of the group that this rank is in, if it is in any. */
  private Optional<int[]> group() {
    List<List<Integer>> groups = work.members().groups();
    if (groups.isEmpty()) {
      return world.rank() < work.ranks()
          ? Optional.of(IntStream.range(0, work.ranks()).toArray())
          : Optional.empty();
    }
    return groups.stream()
        .filter(group -> group.contains(world.rank()))
        .findFirst()
        .map(group -> group.stream().mapToInt(Integer::intValue).toArray());
  }

  private boolean isWholeJob(int[] group) {
    return Arrays.equals(group, IntStream.range(0, world.size()).toArray());
  }

  /**
   * Repeats a case for {@code nanos} and at least three times; the job is tuned halfway if that
   * matters. Every call of a measurement is made, too, and after the tuning calls are repeated:
   * after one that compiled code has not met ranks compile for many seconds.
   */
  public static void warmUp(Communicator world, PerfCase work, long nanos) {
    try (CaseRun run = new CaseRun(world, work)) {
      run.checked();
      if (run.isTuned() && !run.isPartOfJob()) {
        run.repeat(nanos / 2);
        tune(world);
        run.repeat(nanos / 2);
      } else {
        run.repeat(nanos);
      }
    }
  }

  private void repeat(long nanos) {
    long start = System.nanoTime();
    int batch = FIRST_ITERATIONS;
    do {
      timedAndCombined(batch);
      batch = Math.min(2 * batch, COMBINED);
    } while (rankZeroSays(System.nanoTime() - start < nanos ? 1 : 0) == 1);
  }

  /** Until what was measured is believed: in code that has just begun a second is too short. */
  private static void tune(Communicator group) {
    int tries = 0;
    do {
      group.tune();
    } while (!group.explain(0).tuned() && ++tries < MOST_TUNINGS);
  }

  /** Then the members are a group that is made for the case, and tuned before it is measured. */
  private boolean isPartOfJob() {
    return work.ranks() < world.size();
  }

  private Algorithm algorithm() {
    return work.algorithm().forRanks(work.ranks());
  }

  private boolean isAuto() {
    return algorithm() instanceof Algorithm.Auto;
  }

  /** Not if it goes by the shipped table. */
  private boolean isTuned() {
    return algorithm().equals(Algorithm.auto());
  }

  /**
   * Returns the algorithms by which the calls of the case have gone that were made since.
   *
   * @return {@link CaseResult#NOTHING} if nobody chose them
   */
  private String chosenSince(Statistics before) {
    if (members == null || !isAuto() || !work.operand().tensors().isEmpty()) {
      return CaseResult.NOTHING;
    }
    String collective = work.collective().toString();
    return world.statistics().rows().stream()
        .filter(row -> row.kind().collective().equals(collective) && !before.rows().contains(row))
        .map(row -> row.kind().algorithm())
        .distinct()
        .sorted()
        .collect(Collectors.joining("/"));
  }

  /** Measures a case. */
  public static CaseResult measure(Communicator world, PerfCase work) {
    try (CaseRun run = new CaseRun(world, work)) {
      return run.measured();
    }
  }

  private CaseResult measured() {
    if (members != null && isTuned() && isPartOfJob()) {
      tune(members);
    }
    long wrong = checked();
    long[] nanos = new long[(int) iterations()];
    long messages = operation == null ? 0 : operation.negotiationMessages();
    List<Long> linkBytes = new ArrayList<>();
    Statistics before = world.statistics();
    Optional<HostTraffic> traffic = timedAndCounted(nanos, linkBytes);
    String chosen = chosenSince(before);
    messages = (operation == null ? 0 : operation.negotiationMessages()) - messages;
    combine(world, nanos);
    wrong += checked();
    return new CaseResult(
        CaseResult.Times.of(nanos),
        work.method().check() ? wrong : -1,
        Math.round((double) messages / nanos.length),
        traffic,
        linkBytes,
        chosen);
  }

  private long iterations() {
    long given = work.method().iterations();
    boolean onMesh = !work.members().groups().isEmpty();
    if (onMesh && given > 0) {
      // One call wakes up ranks that have slept; on slow links several would take long.
      timed(work.method().check() ? 0 : 1);
      return given;
    }
    long each = each();
    long wanted =
        given > 0
            ? given
            : Math.max(
                LEAST_ITERATIONS, Math.min(MOST_ITERATIONS, work.method().minNanos() / each));
    return rankZeroSays(wanted);
  }

  /**
   * Returns the time of an iteration, of as many as take a tenth of the time of the case: the first
   * ones, of ranks that have just slept, take a hundred times as long as those that follow.
   */
  private long each() {
    int iterations = FIRST_ITERATIONS;
    while (true) {
      long start = System.nanoTime();
      timed(iterations);
      long nanos = System.nanoTime() - start;
      boolean isEnough = 10 * nanos >= work.method().minNanos() || 2 * iterations > MOST_ITERATIONS;
      if (rankZeroSays(isEnough ? 1 : 0) == 1) {
        return Math.max(1, nanos / iterations);
      }
      iterations *= 2;
    }
  }

  /** Gives back the memory of the payloads. */
  @Override
  public void close() {
    if (operation != null) {
      operation.close();
    }
    if (members != null && members != world) {
      members.close();
    }
  }

  private void fill() {
    if (operation != null) {
      operation.fill();
    }
  }

  private void timed(int iterations) {
    timed(new long[iterations]);
  }

  /** Times iterations as a measurement does. */
  private void timedAndCombined(int iterations) {
    long[] nanos = new long[iterations];
    timed(nanos);
    combine(world, nanos);
  }

  /** Leaves the times of the slowest ranks. */
  static void combine(Communicator world, long[] nanos) {
    for (int from = 0; from < nanos.length; from += COMBINED) {
      int count = Math.min(COMBINED, nanos.length - from);
      world.allReduce(Payload.of(nanos, from, count), ReduceOp.MAX);
    }
  }

  private void timed(long[] nanos) {
    for (int i = 0; i < nanos.length; i++) {
      world.barrier();
      if (operation != null) {
        long start = System.nanoTime();
        operation.run();
        nanos[i] = System.nanoTime() - start;
      }
    }
  }

  /**
   * Also counts bytes, if that is wanted. Before and after it all ranks have what was sent to them,
   * so all of it was on the wire.
   *
   * @param linkBytes gets what the links of a mesh carried
   */
  private Optional<HostTraffic> timedAndCounted(long[] nanos, List<Long> linkBytes) {
    if (!work.members().groups().isEmpty()) {
      Map<String, HostBytes> before = HostBytes.byInterface();
      timed(nanos);
      world.barrier();
      linkBytes.addAll(ofLinks(before, HostBytes.byInterface(), nanos.length));
      return Optional.empty();
    }
    if (!work.method().hostTraffic()) {
      timed(nanos);
      return Optional.empty();
    }
    HostBytes before = HostBytes.now();
    timed(nanos);
    world.barrier();
    HostBytes after = HostBytes.now();
    long sent = Math.round((double) (after.sent() - before.sent()) / nanos.length);
    long received = Math.round((double) (after.received() - before.received()) / nanos.length);
    long[] extremes = {sent, -sent, received, -received};
    if (members == null) {
      Arrays.fill(extremes, Long.MIN_VALUE);
    }
    world.allReduce(extremes, ReduceOp.MAX);
    return Optional.of(new HostTraffic(extremes[0], -extremes[1], extremes[2], -extremes[3]));
  }

  /** Returns what links carried in an iteration, by number; a rank knows those it sends by. */
  private List<Long> ofLinks(
      Map<String, HostBytes> before, Map<String, HostBytes> after, int iterations) {
    long[] bytes = new long[MeshLinks.DIRECTIONS * world.size()];
    for (int direction = 0; direction < MeshLinks.DIRECTIONS; direction++) {
      HostBytes now = after.get(MeshNetwork.interfaceOf(direction));
      HostBytes then = before.get(MeshNetwork.interfaceOf(direction));
      if (now != null && then != null) {
        bytes[direction * world.size() + world.rank()] =
            Math.round((double) (now.sent() - then.sent()) / iterations);
      }
    }
    world.allReduce(bytes, ReduceOp.SUM);
    return Arrays.stream(bytes).boxed().toList();
  }

  /**
   * Fills in the values, makes the call, and returns the number of wrong elements on all ranks; 0
   * if nobody checks.
   */
  private long checked() {
    fill();
    if (!work.method().check()) {
      return 0;
    }
    long[] wrong = {0};
    if (operation != null) {
      operation.run();
      wrong[0] = operation.wrong();
    }
    world.allReduce(wrong, ReduceOp.SUM);
    fill();
    return wrong[0];
  }

  private long rankZeroSays(long value) {
    long[] message = {world.rank() == 0 ? value : 0};
    world.allReduce(message, ReduceOp.SUM);
    return message[0];
  }
}
