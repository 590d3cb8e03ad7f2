package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The method of Horovod (Sergeev and Del Balso 2018), as a baseline: the ranks negotiate which
 * tensors to sum.
 *
 * <p>In each cycle every rank tells rank 0 which tensors have become ready since it last did (a
 * gather of a bit for each tensor), and rank 0 answers which are ready on all ranks by now (a
 * broadcast of the same). These are copied into a buffer, the last tensor first, as long as 64 MiB
 * hold them; the buffer is all-reduced and copied back, and the next one begins. A tensor that is
 * alone in its buffer is summed where it lies. The next cycle begins when that is done, and no
 * sooner than 1 ms after the last one began. Both numbers are Horovod's defaults
 * (HOROVOD_FUSION_THRESHOLD, HOROVOD_CYCLE_TIME).
 *
 * <p>Kinder than Horovod: the first cycle begins with the backward pass, instead of up to a
 * millisecond later; requests are bits, not names and shapes; and it takes no thread of its own.
 */
final class NegotiatedSums implements TensorSums {
  private static final long CYCLE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final int BUFFER_ELEMENTS = (64 << 20) / Float.BYTES;

  private final Communicator group;
  private final Communicator coordination;
  private final ReduceOp op;
  private final List<Payload.OfArray> tensors;
  private final BackwardPass backward;
  private final float[] buffer;
  private final int[] request;
  private final int[] requests;
  private final int[] answer;
  private final long[] requestCounts;
  private final int[] readyRanks;
  private long cycles;

  /**
   * Of these.
   *
   * @param payloads float arrays
   */
  NegotiatedSums(Communicator group, ReduceOp op, List<Payload> payloads, BackwardPass backward) {
    this.group = group;
    this.coordination = group.using(Algorithm.auto());
    this.op = op;
    this.tensors = payloads.stream().map(Payload.OfArray.class::cast).toList();
    this.backward = backward;
    long all = payloads.stream().mapToLong(Payload::count).sum();
    this.buffer = new float[(int) Math.min(all, BUFFER_ELEMENTS)];
    int words = (tensors.size() + Integer.SIZE - 1) / Integer.SIZE;
    this.request = new int[words];
    this.requests = new int[group.rank() == 0 ? words * group.size() : 0];
    this.answer = new int[words];
    this.requestCounts = new long[group.size()];
    Arrays.fill(requestCounts, words);
    this.readyRanks = new int[tensors.size()];
  }

  @Override
  public void run() {
    BitSet told = new BitSet();
    int summed = 0;
    backward.start();
    Arrays.fill(readyRanks, 0);
    long start = System.nanoTime();
    while (true) {
      List<Payload.OfArray> agreed = negotiate(told);
      cycles++;
      sum(agreed);
      summed += agreed.size();
      if (summed == tensors.size()) {
        return;
      }
      BackwardPass.await(start + CYCLE_NANOS);
      start = System.nanoTime();
    }
  }

  /** A request of each rank but rank 0, and an answer to it. */
  @Override
  public long negotiationMessages() {
    return cycles * 2 * (group.size() - 1);
  }

  /** Which tensors all ranks have told to be ready, the last one first. */
  private List<Payload.OfArray> negotiate(BitSet told) {
    Arrays.fill(request, 0);
    for (int tensor = 0; tensor < tensors.size(); tensor++) {
      if (!told.get(tensor) && backward.isReady(tensor)) {
        told.set(tensor);
        request[tensor / Integer.SIZE] |= 1 << tensor % Integer.SIZE;
      }
    }
    coordination.gather(
        Payload.of(request), group.rank() == 0 ? Payload.of(requests) : null, requestCounts, 0);
    if (group.rank() == 0) {
      decide();
    }
    coordination.broadcast(Payload.of(answer), 0);
    List<Payload.OfArray> agreed = new ArrayList<>();
    for (int tensor = tensors.size() - 1; tensor >= 0; tensor--) {
      if (has(answer, 0, tensor)) {
        agreed.add(tensors.get(tensor));
      }
    }
    return agreed;
  }

  /** Returns what rank 0 answers. */
  private void decide() {
    Arrays.fill(answer, 0);
    for (int tensor = 0; tensor < tensors.size(); tensor++) {
      for (int rank = 0; rank < group.size(); rank++) {
        if (has(requests, rank * request.length, tensor) && ++readyRanks[tensor] == group.size()) {
          answer[tensor / Integer.SIZE] |= 1 << tensor % Integer.SIZE;
        }
      }
    }
  }

  private static boolean has(int[] bits, int first, int tensor) {
    return (bits[first + tensor / Integer.SIZE] >> tensor % Integer.SIZE & 1) != 0;
  }

  private void sum(List<Payload.OfArray> agreed) {
    int first = 0;
    while (first < agreed.size()) {
      long count = agreed.get(first).count();
      int end = first + 1;
      while (end < agreed.size() && count + agreed.get(end).count() <= buffer.length) {
        count += agreed.get(end++).count();
      }
      if (end == first + 1) {
        group.allReduce(agreed.get(first), op);
      } else {
        List<Payload.OfArray> fused = agreed.subList(first, end);
        TensorCopies.copyTo(buffer, fused);
        group.allReduce(Payload.of(buffer, 0, (int) count), op);
        TensorCopies.copyFrom(buffer, fused);
      }
      first = end;
    }
  }
}
