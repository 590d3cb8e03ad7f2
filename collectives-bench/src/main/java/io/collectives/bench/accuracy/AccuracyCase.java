package io.collectives.bench.accuracy;

import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.bench.model.Values;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.bench.simulate.Size;
import io.collectives.plan.Additions;
import io.collectives.plan.Plan;
import java.util.ArrayList;
import java.util.List;

/**
 * Sums whose error is measured.
 *
 * @param algorithm whose plan
 * @param size how many ranks
 * @param type of the elements
 * @param wire as what they cross the links
 * @param elements how many are looked at, at least; all chunks have as many
 * @param contributions what ranks contribute
 * @param simulated whether numbers are moved through the plan, without an engine
 */
public record AccuracyCase(
    PlanChoice algorithm,
    Size size,
    ElementType type,
    WireChoice wire,
    int elements,
    Contributions contributions,
    boolean simulated) {

  /**
   * Returns whether there is such a case: only elements of float32 become narrow, and where several
   * ranks take the same sum they keep no residuals.
   */
  public boolean exists() {
    return wire.type() == WireType.AS_IN_MEMORY
        || type == ElementType.FLOAT32
            && !(wire.feedback() && Additions.areRepeated(algorithm.plan(size)));
  }

  /** Returns how many elements are looked at. */
  public int lookedAt() {
    return Sample.of(algorithm.plan(size), elements).elements();
  }

  /**
   * Takes sums in steps and adds them up.
   *
   * @param steps after how many of them the error is asked for, in rising order
   * @return what the sums of all steps so far are off by together, for each
   */
  public List<Deviation> run(List<Integer> steps) {
    Sample sample = Sample.of(algorithm.plan(size), elements);
    Total exact = new Total(sample.elements());
    Total taken = new Total(sample.elements());
    List<Deviation> deviations = new ArrayList<>();
    try (Sums sums = sums(sample)) {
      int step = 0;
      for (int end : steps) {
        for (; step < end; step++) {
          addContributions(exact, sample, step);
          taken.add(sums.take(step));
        }
        deviations.add(Deviation.of(taken, exact));
      }
    }
    return deviations;
  }

  private void addContributions(Total exact, Sample sample, int step) {
    Values values = Values.of(type, sample.elements());
    for (int rank = 0; rank < size.ranks(); rank++) {
      for (int index = 0; index < sample.picked(); index++) {
        contributions.fill(
            values, index * sample.length(), sample.length(), step, rank, sample.chunk(index));
      }
      exact.add(values);
    }
  }

  private Sums sums(Sample sample) {
    if (!simulated) {
      return new EngineSums(
          algorithm.algorithm(size), size.ranks(), type, wire, sample, contributions);
    }
    Plan plan = algorithm.plan(size);
    return new PlanSums(plan, type, wire, sample, contributions);
  }
}
