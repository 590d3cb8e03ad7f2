package io.collectives.bench.digits;

/**
 * The result of a run after an epoch, the same on all ranks.
 *
 * @param epoch from 1
 * @param loss the mean over the images that are held out
 * @param accuracy the share of them that is read right
 * @param bits a hash of all weights
 */
public record DigitsResult(int epoch, double loss, double accuracy, long bits) {

  /** The result on one line, for another process. */
  public String line() {
    return epoch + " " + loss + " " + accuracy + " " + bits;
  }

  /** The result of a {@link #line()}. */
  public static DigitsResult parse(String line) {
    String[] fields = line.split(" ");
    return new DigitsResult(
        Integer.parseInt(fields[0]),
        Double.parseDouble(fields[1]),
        Double.parseDouble(fields[2]),
        Long.parseLong(fields[3]));
  }
}
