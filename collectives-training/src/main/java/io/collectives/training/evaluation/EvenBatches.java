package io.collectives.training.evaluation;

import java.util.Arrays;

/**
 * A data set in batches of one size, the same number for each rank, the last ones padded (Kumar et
 * al. 2019, section 2: distributed evaluation). So all ranks make the same calls, however many
 * examples there are. In step s rank r has the examples from {@code (s ranks + r) batchSize} on.
 *
 * @param examples the number of examples of the whole data set, at least 0
 * @param batchSize the number of examples of each rank in each step, at least 1
 * @param ranks the number of ranks that share the data set
 * @param rank the rank of this process
 */
public record EvenBatches(long examples, int batchSize, int ranks, int rank) {

  /** Checks the values. */
  public EvenBatches {
    if (examples < 0 || batchSize < 1 || ranks < 1 || rank < 0 || rank >= ranks) {
      throw new IllegalArgumentException(
          examples
              + " examples in batches of "
              + batchSize
              + " for rank "
              + rank
              + " of "
              + ranks
              + ": batches have an example at least, ranks are 0 to "
              + (ranks - 1));
    }
  }

  /** Returns the number of batches of each rank. */
  public long steps() {
    long together = (long) batchSize * ranks;
    return (examples + together - 1) / together;
  }

  /**
   * Returns the index of the first example of a batch; in a batch that is all padding, the number
   * of examples.
   */
  public long first(long step) {
    return Math.min(examples, (step * ranks + rank) * batchSize);
  }

  /** Returns the number of examples in a batch; the rest, at its end, is padding. */
  public int valid(long step) {
    return (int) Math.min(batchSize, examples - first(step));
  }

  /** Returns 1 for each example of a batch, 0 for padding. */
  public float[] mask(long step) {
    float[] mask = new float[batchSize];
    Arrays.fill(mask, 0, valid(step), 1);
    return mask;
  }
}
