package io.collectives.bench.train;

/**
 * The result of a run, the same on all ranks.
 *
 * @param ranks how many took part
 * @param medianNanos half of the steps' all-reduces took no longer on their slowest rank
 * @param bestNanos the fastest one
 * @param absoluteError the largest difference to the average in double, over all elements and steps
 * @param relativeError the largest ratio of that difference to the average magnitude of the
 *     element's gradients, or, where elements are as exact as the greatest only, to that of all
 * @param tolerance the largest relative error that rounding explains
 * @param identicalBits whether all ranks ended every step with the same bits
 */
public record TrainingResult(
    int ranks,
    long medianNanos,
    long bestNanos,
    double absoluteError,
    double relativeError,
    double tolerance,
    boolean identicalBits) {

  /**
   * Returns whether nothing but rounding differs from the average in double, and no rank from
   * another.
   */
  public boolean good() {
    return identicalBits && relativeError <= tolerance;
  }

  /** The result on one line, for another process. */
  public String line() {
    return ranks
        + " "
        + medianNanos
        + " "
        + bestNanos
        + " "
        + absoluteError
        + " "
        + relativeError
        + " "
        + tolerance
        + " "
        + identicalBits;
  }

  /** The result of a {@link #line()}. */
  public static TrainingResult parse(String line) {
    String[] fields = line.split(" ");
    return new TrainingResult(
        Integer.parseInt(fields[0]),
        Long.parseLong(fields[1]),
        Long.parseLong(fields[2]),
        Double.parseDouble(fields[3]),
        Double.parseDouble(fields[4]),
        Double.parseDouble(fields[5]),
        Boolean.parseBoolean(fields[6]));
  }
}
