package io.collectives.bench.simulate;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * A parameter server as it was before Herring (Thangakrishnan et al. 2020, section II-A): each
 * variable is on one server, whole, however long it is. A baseline, which exists in the simulator
 * only. Servers are ranks of their own, after those of the workers.
 *
 * <p>Variables go to the server that has least so far, the longest variable first; no placement of
 * whole variables has a busiest server with less than the longest of them.
 *
 * <p>Shape: a chunk is as long as all variables are multiples of; a variable is a range of chunks,
 * 1 lane. Steps: 2. Bytes: a worker sends M and receives M; the server of a variable of V bytes
 * sends and receives V for each worker.
 */
final class AtomicServersPlan {
  /**
   * The gradients that appear in the last ten milliseconds of a backward pass of BERT-large: table
   * II of the paper, in its order, in KiB of numbers of 16 bits.
   */
  static final long[] TABLE_II = {
    8192, 8, 8192, 2, 2, 2, 2048, 2, 2048, 2, 2048, 2, 2048, 2, 2, 4, 1024, 61056
  };

  private AtomicServersPlan() {}

  /**
   * The plan.
   *
   * @param lengths of the variables, in any unit, at least 1
   */
  static Plan of(int workers, int servers, long[] lengths) {
    if (servers < 1 || workers < 1) {
      throw new IllegalArgumentException(
          "atomic-servers:"
              + servers
              + " for "
              + workers
              + " workers: at least 1 of each is needed");
    }
    long unit = LongStream.of(lengths).reduce(0, AtomicServersPlan::commonDivisor);
    int[] counts = LongStream.of(lengths).mapToInt(v -> Math.toIntExact(v / unit)).toArray();
    int[] places = places(counts, servers);
    Rounds push =
        Rounds.of(1, (round, sink) -> each(workers, counts, places, true, sink::transfer));
    Rounds pull =
        Rounds.of(1, (round, sink) -> each(workers, counts, places, false, sink::transfer));
    return Plan.of(
        PlanRequest.of(Collective.ALL_REDUCE, workers + servers),
        workers,
        IntStream.of(counts).sum(),
        push.then(pull));
  }

  /** The server of each variable. */
  static int[] places(int[] counts, int servers) {
    int[] places = new int[counts.length];
    long[] loads = new long[servers];
    IntStream.range(0, counts.length)
        .boxed()
        .sorted(Comparator.comparingInt(variable -> -counts[variable]))
        .forEach(
            variable -> {
              long least = Arrays.stream(loads).min().orElseThrow();
              int server = 0;
              while (loads[server] > least) {
                server++;
              }
              places[variable] = server;
              loads[server] += counts[variable];
            });
    return places;
  }

  private static long commonDivisor(long a, long b) {
    return b == 0 ? a : commonDivisor(b, a % b);
  }

  private static void each(int workers, int[] counts, int[] places, boolean push, Sink sink) {
    int first = 0;
    for (int variable = 0; variable < counts.length; variable++) {
      int server = workers + places[variable];
      for (int worker = 0; worker < workers; worker++) {
        sink.transfer(
            push ? worker : server,
            push ? server : worker,
            first,
            counts[variable],
            push ? Effect.REDUCE : Effect.REPLACE);
      }
      first += counts[variable];
    }
  }

  @FunctionalInterface
  private interface Sink {
    void transfer(int from, int to, int first, int count, Effect effect);
  }
}
