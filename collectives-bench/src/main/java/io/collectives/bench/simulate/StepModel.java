package io.collectives.bench.simulate;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.FusionSettings;
import io.collectives.internal.FusionRule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A training step: input, forward pass, backward pass, in which gradients become ready, sums of
 * fusion buffers, and an update.
 *
 * <p>Computing has times of its own; {@link CallPrices calls} are simulated; the library's {@link
 * FusionRule rule} says which gradients make up a buffer. A buffer is summed when it is complete
 * and the one before it in its lane is done. Of calls under way at once the bytes pass one call
 * after the other, because they share links, and their latencies at the same time. The input of the
 * next step is made during this one, and all ranks are equally fast.
 *
 * <p>An update of shards (Kumar et al. 2021, section 3.2) reduce-scatters, in one lane, buckets
 * that are cut as {@code ShardedOptimizer} cuts them, updates a part at each rank, and all-gathers
 * the weights of each bucket.
 */
public final class StepModel {
  /** An exact sum of squares, of each tensor's gradients and weights. */
  private static final int NORM_LENGTH = 136;

  /** The elements between which shards may be cut. */
  private static final int BLOCK = 64;

  private final Compute compute;
  private final CallPrices prices;

  /**
   * The computing of a step.
   *
   * @param backward the backward pass
   * @param forwardNanos what the forward pass takes
   * @param updateNanos what the update of all weights takes
   * @param inputNanos what it takes to make the input of a step
   * @param normCalls how many small all-reduces for norms and the like an update of shards makes
   */
  public record Compute(
      Backward backward,
      double forwardNanos,
      double updateNanos,
      double inputNanos,
      int normCalls) {

    /** Returns what a step of a rank by itself takes. */
    public double nanos() {
      return Math.max(inputNanos, forwardNanos + backward.nanos() + updateNanos);
    }
  }

  /**
   * A backward pass.
   *
   * @param type of the gradients
   * @param counts the elements of each tensor, in the order in which they become ready
   * @param readyNanos when they are ready, after the beginning of the pass
   * @param nanos when the pass is over
   */
  public record Backward(ElementType type, long[] counts, double[] readyNanos, double nanos) {

    /**
     * A pass over tensors in which each takes a part of the time in proportion to its work.
     *
     * @param counts in the order of the forward pass
     * @param work of each tensor, in the same order; if all are 0, all are ready at the end
     */
    public static Backward of(ElementType type, long[] counts, double[] work, double nanos) {
      int all = counts.length;
      double whole = Arrays.stream(work).sum();
      long[] backwards = new long[all];
      double[] ready = new double[all];
      double done = 0;
      for (int i = 0; i < all; i++) {
        backwards[i] = counts[all - 1 - i];
        done += work[all - 1 - i];
        ready[i] = whole == 0 ? nanos : Math.min(nanos, nanos * (done / whole));
      }
      return new Backward(type, backwards, ready, nanos);
    }

    /** Returns the bytes of all gradients. */
    public long bytes() {
      return Arrays.stream(counts).sum() * type.bytes();
    }
  }

  /**
   * The fusion of gradients.
   *
   * @param firstLength the most bytes of the first buffer
   * @param length the most bytes of the others
   * @param balanced whether tensors are cut where a buffer is full
   * @param lanes how many buffers may be under way at once
   */
  public record Fusion(long firstLength, long length, boolean balanced, int lanes) {
    /** A call for each tensor, one after the other. */
    public static final Fusion EACH = new Fusion(1, 1, false, 1);

    /** A single call for all. */
    public static final Fusion ONE = new Fusion(Long.MAX_VALUE, Long.MAX_VALUE, false, 1);

    /** Returns the buffers of a gradient reducer, the first of which is short. */
    public static Fusion reducer(long length) {
      FusionSettings settings = FusionSettings.defaults();
      return new Fusion(
          Math.min(settings.firstBufferLength(), length), length, false, FusionRule.LANES);
    }
  }

  /**
   * The means by which steps become shorter.
   *
   * @param fusion which gradients are reduced together
   * @param overlaps gradients are reduced while the backward pass computes others
   * @param shards each rank updates a shard
   * @param contention which part of the backward pass stands still while a call is under way, from
   *     0 to 1
   */
  public record Means(Fusion fusion, boolean overlaps, boolean shards, double contention) {
    /** Checks the share. */
    public Means {
      if (!(contention >= 0 && contention <= 1)) {
        throw new IllegalArgumentException("contention " + contention + ": must be from 0 to 1");
      }
    }
  }

  /** A model of steps whose calls have these prices. */
  public StepModel(Compute compute, CallPrices prices) {
    this.compute = compute;
    this.prices = prices;
  }

  /** Returns the computing of a step. */
  public Compute compute() {
    return compute;
  }

  /** Returns the prices of calls. */
  public CallPrices prices() {
    return prices;
  }

  /**
   * Models a step.
   *
   * @throws IllegalArgumentException if no algorithm plans a call that it needs
   */
  public Step step(Means means) {
    Backward backward = compute.backward();
    double start = compute.forwardNanos();
    double update = compute.updateNanos() / (means.shards() ? prices.ranks() : 1);
    List<Step.Call> calls = new ArrayList<>();
    double backwardEnd = start + backward.nanos();
    double end = backwardEnd;
    if (prices.ranks() > 1) {
      Timeline line = new Timeline(means);
      for (Bucket bucket : buckets(means)) {
        line.add(bucket);
      }
      calls.addAll(line.calls);
      backwardEnd = line.progress(backward.nanos());
      end = Math.max(backwardEnd, line.end());
      if (means.shards()) {
        end = norms(calls, end);
      }
    }
    end += update;
    if (prices.ranks() > 1 && means.shards()) {
      end = gather(calls, end);
    }
    double wait = Math.max(0, compute.inputNanos() - end);
    return new Step(
        wait,
        compute.forwardNanos(),
        backward.nanos(),
        backwardEnd + wait,
        update,
        end + wait,
        moved(calls, wait));
  }

  private double norms(List<Step.Call> calls, double from) {
    long bytes = (long) NORM_LENGTH * compute.backward().counts().length;
    double end = from;
    for (int i = 0; i < compute.normCalls(); i++) {
      end = after(calls, Collective.ALL_REDUCE, bytes, end);
    }
    return end;
  }

  private double gather(List<Step.Call> calls, double from) {
    double end = from;
    for (Step.Call call : List.copyOf(calls)) {
      if (call.collective() == Collective.REDUCE_SCATTER) {
        end = after(calls, Collective.ALL_GATHER, call.bytes(), end);
      }
    }
    return end;
  }

  private double after(List<Step.Call> calls, Collective what, long bytes, double begin) {
    double nanos = prices.nanos(what, bytes);
    calls.add(new Step.Call(what, bytes, begin, begin + nanos, nanos));
    return begin + nanos;
  }

  private static List<Step.Call> moved(List<Step.Call> calls, double by) {
    return calls.stream()
        .map(
            call ->
                new Step.Call(
                    call.collective(),
                    call.bytes(),
                    call.begin() + by,
                    call.end() + by,
                    call.nanos()))
        .toList();
  }

  /** Gradients that are reduced together, and how far the backward pass must be. */
  private record Bucket(long bytes, double readyNanos) {}

  private List<Bucket> buckets(Means means) {
    Backward backward = compute.backward();
    int all = backward.counts().length;
    FusionRule rule = new FusionRule(Collections.nCopies(all, backward.type()), backward.counts());
    int[] order = IntStream.range(0, all).toArray();
    Fusion fusion = means.fusion();
    if (!means.shards()) {
      List<FusionRule.Buffer> buffers =
          fusion.balanced()
              ? rule.cut(order, fusion.length())
              : rule.whole(order, fusion.firstLength(), fusion.length());
      return buffers.stream().map(buffer -> new Bucket(buffer.length(), ready(buffer))).toList();
    }
    // Shards are cut in the order of the forward pass; the last bucket is the first to be ready.
    int[] forward = IntStream.range(0, all).map(i -> all - 1 - i).toArray();
    List<Bucket> buckets =
        new ArrayList<>(
            rule.cut(forward, bucketLength(fusion.length())).stream()
                .map(buffer -> new Bucket(buffer.length(), ready(buffer)))
                .toList());
    Collections.reverse(buckets);
    return buckets;
  }

  /** Rounds a length up as a shard's layout does, so that each rank has as many whole blocks. */
  private long bucketLength(long wanted) {
    int width = compute.backward().type().bytes();
    long granule = (long) BLOCK * prices.ranks();
    long most = Math.min(wanted, compute.backward().bytes());
    return (most / width + granule) / granule * granule * width;
  }

  private double ready(FusionRule.Buffer buffer) {
    return buffer.slices().stream()
        .mapToDouble(slice -> compute.backward().readyNanos()[slice.tensor()])
        .max()
        .orElse(0);
  }

  /** The calls of a backward pass, and how far that is at a time. */
  private final class Timeline {
    private final Means means;
    private final List<Step.Call> calls = new ArrayList<>();
    private final double[] laneFree;
    private double linkFree;

    Timeline(Means means) {
      this.means = means;
      this.laneFree = new double[means.shards() ? 1 : means.fusion().lanes()];
    }

    void add(Bucket bucket) {
      Collective what = means.shards() ? Collective.REDUCE_SCATTER : Collective.ALL_REDUCE;
      double nanos = prices.nanos(what, bucket.bytes());
      // Alone in its lane, and the only one, a call does not share anything.
      double latency = laneFree.length == 1 ? 0 : Math.min(nanos, prices.nanos(what, 0));
      int lane = calls.size() % laneFree.length;
      double ready = means.overlaps() ? bucket.readyNanos() : compute.backward().nanos();
      double begin = Math.max(progress(ready), laneFree[lane]);
      linkFree = Math.max(begin, linkFree) + nanos - latency;
      double end = linkFree + latency;
      laneFree[lane] = end;
      calls.add(new Step.Call(what, bucket.bytes(), begin, end, nanos));
    }

    double end() {
      return calls.stream().mapToDouble(Step.Call::end).max().orElse(0);
    }

    /**
     * Returns when the backward pass has done so much; calls that begin later do not matter, and
     * none that is added later begins before one that was.
     */
    double progress(double done) {
      double at = compute.forwardNanos();
      double speed = 1 - means.contention();
      if (speed == 1) {
        return at + done;
      }
      double left = done;
      for (Step.Call call : calls) {
        double free = Math.max(0, call.begin() - at);
        if (left <= free) {
          return at + left;
        }
        if (call.end() > at) {
          at += free;
          left -= free;
          double held = (call.end() - at) * speed;
          if (left <= held) {
            return at + left / speed;
          }
          at = call.end();
          left -= held;
        }
      }
      return at + left;
    }
  }
}
