package io.collectives.bench.runreport;

import io.collectives.bench.runreport.RankReport.Buffer;
import io.collectives.bench.runreport.RankReport.Reducer;
import io.collectives.bench.runreport.RankReport.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The ranks that others waited for, step by step.
 *
 * <p>A sum ends at about the same time on all ranks, so the rank on which it took the shortest time
 * began it last, and each other rank waited for it: for as long as the sum took longer there. This
 * needs no clocks that agree. The wait of a rank in a step is the sum over the buffers of a lane,
 * of the lane in which it is longest. The rank that waits least is the late one of the step, and it
 * is late by the mean wait of the others, beyond its own.
 */
final class Lateness {
  /** A smaller lateness is noise. */
  static final double LEAST_MICROS = 1000;

  /** A smaller share of the median step is noise. */
  static final double LEAST_SHARE = 0.05;

  /** By step: who was late and by how much. */
  private final NavigableMap<Long, Late> late = new TreeMap<>();

  private final double[] waited;
  private final double[] causedWait;
  private double micros;
  private int steps;

  /**
   * The late rank of a step.
   *
   * @param index its place in the list of reducers
   */
  record Late(int index, double micros) {}

  /**
   * Compares steps.
   *
   * @param ranks the same reducer at each rank
   */
  Lateness(List<Reducer> ranks) {
    waited = new double[ranks.size()];
    causedWait = new double[ranks.size()];
    if (ranks.size() < 2) {
      return;
    }
    List<Buffer> buffers = ranks.get(0).buffers();
    for (long number : ranks.get(0).kept().keySet()) {
      List<Step> all = step(ranks, number, buffers.size());
      if (number > 0 && !all.isEmpty()) {
        add(number, all, buffers);
      }
    }
  }

  /** Returns the step of all ranks; nothing if one lacks it, or has other buffers. */
  static List<Step> step(List<Reducer> ranks, long number, int buffers) {
    List<Step> all = new ArrayList<>();
    for (Reducer rank : ranks) {
      Step step = rank.kept().get(number);
      if (step == null || step.buffers() != buffers) {
        return List.of();
      }
      all.add(step);
    }
    return all;
  }

  private void add(long number, List<Step> all, List<Buffer> buffers) {
    double[] waits = waits(all, buffers);
    int last = 0;
    double sum = 0;
    for (int i = 0; i < waits.length; i++) {
      last = waits[i] < waits[last] ? i : last;
      sum += waits[i];
      waited[i] += waits[i];
    }
    double by = (sum - waits[last]) / (waits.length - 1) - waits[last];
    late.put(number, new Late(last, by));
    causedWait[last] += by;
    micros += Medians.of(all.stream().map(Step::micros).toList());
    steps++;
  }

  private static double[] waits(List<Step> all, List<Buffer> buffers) {
    int lanes = 1 + buffers.stream().mapToInt(Buffer::lane).max().orElse(0);
    double[] longest = new double[all.size()];
    for (int lane = 0; lane < lanes; lane++) {
      double[] inLane = new double[all.size()];
      for (int i = 0; i < buffers.size(); i++) {
        if (buffers.get(i).lane() == lane) {
          int buffer = i;
          long shortest = all.stream().mapToLong(step -> sum(step, buffer)).min().orElse(0);
          for (int rank = 0; rank < inLane.length; rank++) {
            inLane[rank] += sum(all.get(rank), buffer) - shortest;
          }
        }
      }
      for (int rank = 0; rank < inLane.length; rank++) {
        longest[rank] = Math.max(longest[rank], inLane[rank]);
      }
    }
    return longest;
  }

  private static long sum(Step step, int buffer) {
    return step.ended(buffer) - step.begun(buffer);
  }

  /** Returns the number of steps that all ranks have kept. */
  int steps() {
    return steps;
  }

  /** Returns the time that a rank waited for others, in microseconds for each step. */
  double waited(int index) {
    return steps == 0 ? 0 : waited[index] / steps;
  }

  /**
   * Returns the score of a rank: the share of the steps' time, from 0 to 1, for which others waited
   * for it.
   */
  double score(int index) {
    return micros == 0 ? 0 : causedWait[index] / micros;
  }

  /**
   * Returns the steps in which a rank was late by more than noise, with its lateness: by half as
   * much or more as in the tenth of them in which it was latest, so that a delay that comes now and
   * then is not mixed with small ones.
   */
  NavigableMap<Long, Double> lateSteps(int index) {
    double least = Math.max(LEAST_MICROS, LEAST_SHARE * micros / Math.max(1, steps));
    NavigableMap<Long, Double> found = new TreeMap<>();
    late.forEach(
        (number, who) -> {
          if (who.index == index && who.micros >= least) {
            found.put(number, who.micros);
          }
        });
    List<Double> sorted = found.values().stream().sorted().toList();
    if (!sorted.isEmpty()) {
      double large = sorted.get((int) (0.9 * (sorted.size() - 1))) / 2;
      found.values().removeIf(micros -> micros < large);
    }
    return found;
  }

  /**
   * Returns the period p such that a rank is late in step s, s + p, s + 2p and so on, and hardly
   * elsewhere; 0 if there is none.
   */
  long period(int index) {
    List<Long> numbers = new ArrayList<>(lateSteps(index).keySet());
    for (long period = 1; numbers.size() >= 3 && period <= 64; period++) {
      for (long phase = 0; phase < period; phase++) {
        long p = period;
        long f = phase;
        long inPhase = late.keySet().stream().filter(number -> number % p == f).count();
        long hits = numbers.stream().filter(number -> number % p == f).count();
        if (hits >= 3 && hits >= 0.8 * inPhase && hits >= 0.8 * numbers.size()) {
          return period;
        }
      }
    }
    return 0;
  }
}
