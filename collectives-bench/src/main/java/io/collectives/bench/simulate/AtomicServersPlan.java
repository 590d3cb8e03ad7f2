package io.collectives.bench.simulate;

import io.collectives.Collective;
import io.collectives.bench.model.Model;
import io.collectives.bench.model.Tensor;
import io.collectives.bench.model.WholeTensors;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * A parameter server as it was before Herring (Thangakrishnan et al. 2020, section II-A): each
 * variable is on one server, whole, however long it is ({@link WholeTensors}). A baseline, as a
 * plan in the simulator only. Servers are ranks of their own, after those of the workers.
 *
 * <p>Shape: a chunk is as long as all variables are multiples of; a variable is a range of chunks,
 * 1 lane. Steps: 2. Bytes: a worker sends M and receives M; the server of a variable of V bytes
 * sends and receives V for each worker.
 */
final class AtomicServersPlan {
  /**
   * The gradients of {@link Model#TABLE2} in the order of the backward pass, in KiB of numbers of
   * 16 bits: as the paper prints them.
   */
  static final long[] TABLE_II = tableII();

  private AtomicServersPlan() {}

  private static long[] tableII() {
    List<Tensor> forward = Model.TABLE2.tensors();
    return IntStream.rangeClosed(1, forward.size())
        .mapToLong(i -> forward.get(forward.size() - i).count() / 512)
        .toArray();
  }

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
    int[] places = WholeTensors.deal(counts, servers);
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
