package io.collectives.bench.runreport;

import io.collectives.bench.runreport.RankReport.Buffer;
import io.collectives.bench.runreport.RankReport.Reducer;
import io.collectives.bench.runreport.RankReport.Step;
import java.util.ArrayList;
import java.util.List;

/**
 * A model of the sums of a step, to tell what buffers of another length would do.
 *
 * <p>A sum of x bytes takes {@code a + b x}, and sums follow each other. For each buffer the time
 * counts from its begin, or the end of the sum before it if that is later, on the rank on which it
 * is shortest, so that it contains no wait for others; a and b are fitted by least squares to the
 * medians of all buffers. Gradients become ready as they did: evenly between the first and the last
 * tensor of each buffer. Where tensors end is not known, so a length is cut exactly.
 */
final class OverlapModel {
  private static final double LEAST_RATIO = 1.5;

  private final List<Buffer> buffers;
  private final double[] first;
  private final double[] ready;
  private final double backward;
  private double fixed;
  private double perByte;
  private boolean isFitted;

  /**
   * Fits the model.
   *
   * @param ranks the same reducer at each rank
   */
  OverlapModel(List<Reducer> ranks) {
    buffers = ranks.get(0).buffers();
    List<List<Step>> steps = new ArrayList<>();
    for (long number : ranks.get(0).kept().keySet()) {
      List<Step> all = Lateness.step(ranks, number, buffers.size());
      if (number > 0 && !all.isEmpty()) {
        steps.add(all);
      }
    }
    first = new double[buffers.size()];
    ready = new double[buffers.size()];
    double[] times = new double[buffers.size()];
    List<Step> flat = steps.stream().flatMap(List::stream).toList();
    double latest = 0;
    for (int i = 0; i < buffers.size(); i++) {
      int buffer = i;
      first[i] = Math.max(latest, Medians.of(flat.stream().map(s -> s.first(buffer)).toList()));
      ready[i] = Math.max(first[i], Medians.of(flat.stream().map(s -> s.ready(buffer)).toList()));
      latest = ready[i];
      times[i] = Medians.of(steps.stream().map(all -> shortest(all, buffer)).toList());
    }
    backward = Math.max(latest, Medians.of(flat.stream().map(Step::backward).toList()));
    if (!steps.isEmpty()) {
      fit(times);
    }
  }

  private static long shortest(List<Step> all, int buffer) {
    long shortest = Long.MAX_VALUE;
    for (Step step : all) {
      long from = step.begun(buffer);
      for (int other = 0; other < step.buffers(); other++) {
        if (other != buffer && step.ended(other) <= step.ended(buffer)) {
          from = Math.max(from, step.ended(other));
        }
      }
      shortest = Math.min(shortest, Math.max(0, step.ended(buffer) - from));
    }
    return shortest;
  }

  private void fit(double[] times) {
    long least = buffers.stream().mapToLong(Buffer::bytes).min().orElse(0);
    long most = buffers.stream().mapToLong(Buffer::bytes).max().orElse(0);
    if (most < LEAST_RATIO * least || least == 0) {
      return;
    }
    double n = buffers.size();
    double meanBytes = buffers.stream().mapToLong(Buffer::bytes).average().orElse(0);
    double meanTime = 0;
    for (double time : times) {
      meanTime += time / n;
    }
    double above = 0;
    double below = 0;
    for (int i = 0; i < times.length; i++) {
      double distance = buffers.get(i).bytes() - meanBytes;
      above += distance * (times[i] - meanTime);
      below += distance * distance;
    }
    perByte = Math.max(0, above / below);
    fixed = Math.max(0, meanTime - perByte * meanBytes);
    isFitted = perByte > 0;
  }

  /** Returns whether buffers differ enough in length to tell a from b. */
  boolean isFitted() {
    return isFitted;
  }

  /** Returns the time that any sum takes, in microseconds. */
  double fixedMicros() {
    return fixed;
  }

  /** Returns the time of a byte, in microseconds. */
  double microsPerByte() {
    return perByte;
  }

  /** Returns the time by which the sums of the present buffers outlast the backward pass. */
  double exposedMicros() {
    return exposedOfShare(1);
  }

  /** Returns the time by which sums would outlast the pass if only a share of the bytes moved. */
  double exposedOfShare(double share) {
    double end = 0;
    for (int i = 0; i < buffers.size(); i++) {
      end = Math.max(end, ready[i]) + fixed + share * perByte * buffers.get(i).bytes();
    }
    return Math.max(0, end - backward);
  }

  /** Returns the time by which sums would outlast the pass if buffers had another length. */
  double exposedMicros(long length) {
    long total = buffers.stream().mapToLong(Buffer::bytes).sum();
    double end = 0;
    for (long from = 0; from < total; from += length) {
      long to = Math.min(total, from + length);
      end = Math.max(end, readyAt(to)) + fixed + perByte * (to - from);
    }
    return Math.max(0, end - backward);
  }

  /** Returns the time at which so many bytes are ready. */
  private double readyAt(long bytes) {
    long before = 0;
    for (int i = 0; i < buffers.size(); i++) {
      long length = buffers.get(i).bytes();
      if (bytes <= before + length) {
        return first[i] + (ready[i] - first[i]) * (bytes - before) / length;
      }
      before += length;
    }
    return backward;
  }

  /** Returns the length, a power of 2 from 256 KiB to 64 MiB, that leaves least exposed. */
  long bestLength() {
    long best = 1 << 18;
    for (long length = best; length <= 1 << 26; length *= 2) {
      // Longer ones are preferred, as they are less work.
      best = exposedMicros(length) <= exposedMicros(best) ? length : best;
    }
    return best;
  }
}
