package io.collectives.bench.accuracy;

/**
 * The deviation of sums from the exact ones, as a share of the root mean square of the exact ones.
 *
 * @param rms the root mean square of the differences
 * @param greatest the greatest difference
 */
public record Deviation(double rms, double greatest) {

  static Deviation of(Total taken, Total exact) {
    double squares = 0;
    double differences = 0;
    double greatest = 0;
    for (int i = 0; i < exact.count(); i++) {
      double difference = taken.minus(exact, i);
      squares += exact.sum(i) * exact.sum(i);
      differences += difference * difference;
      greatest = Math.max(greatest, Math.abs(difference));
    }
    return new Deviation(
        Math.sqrt(differences / squares), greatest / Math.sqrt(squares / exact.count()));
  }
}
