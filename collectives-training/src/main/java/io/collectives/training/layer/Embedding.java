package io.collectives.training.layer;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.training.TrainingException;
import io.collectives.training.optimizer.LayerwiseOptimizer;
import io.collectives.training.optimizer.Optimizer;
import java.util.Arrays;

/**
 * A table of vectors that samples look up, for example of users and items (Kumar et al. 2021,
 * section 4.6, for DLRM). A small table is {@linkplain #replicated replicated}: every rank has it,
 * lookups send nothing, gradients are all-reduced. A large one is {@linkplain #sharded sharded}:
 * each rank has some of the rows, and lookups and gradients go to their owners and back by
 * all-to-alls with counts.
 *
 * <pre>{@code
 * table.lookup(indices, count, vectors);   // of this rank's samples
 * ...
 * table.backward(gradients);               // of the vectors
 * table.update(optimizer, step);           // the rows that were looked up by any rank
 * }</pre>
 *
 * <p>Only rows that some rank has looked up since the last update are updated ({@code SparseAdam}
 * in PyTorch), by the <em>sum</em> of their gradients. Owners of a sharded table add gradients in
 * the order of ranks, and those of one rank in the order of its lookups: so a table has the same
 * bits for any number of ranks, if the samples are distributed over them in order. The bits of a
 * replicated table depend on the group's {@code Repeatability}; they agree within rounding errors.
 *
 * <p>Ranks may look up different numbers of rows, or none. All ranks make the same calls in the
 * same order.
 */
public final class Embedding {
  private final Communicator group;
  private final boolean isReplicated;
  private final int width;

  /** The first row of each rank, and the end of the last one. */
  private final long[] starts;

  private final float[] weights;
  private final float[] gradients;

  /** The rows that were looked up since the last update, marked by 1. */
  private final int[] isUsed;

  private float[][] states = {};

  // Of the last lookup.

  private int count;

  /** The sample of each position in the sent data. */
  private int[] order = {};

  private long[] sent = {};
  private long[] received = {};

  /** The rows that others have requested, counted from this rank's first. */
  private int[] asked = {};

  private Embedding(Communicator group, boolean isReplicated, long rows, int width) {
    this.group = group;
    this.isReplicated = isReplicated;
    this.width = width;
    int ranks = group.size();
    this.starts = new long[ranks + 1];
    for (int rank = 0; rank < ranks; rank++) {
      starts[rank] = isReplicated ? 0 : group.partStart(rows, rank);
    }
    starts[ranks] = rows;
    long own = isReplicated ? rows : group.partCount(rows, group.rank());
    if (own * width > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(
          own
              + " rows of "
              + width
              + " numbers on a rank: there may be 2^31 - 9 numbers at most; shard the table over"
              + " more ranks");
    }
    this.weights = new float[(int) (own * width)];
    this.gradients = new float[weights.length];
    this.isUsed = new int[(int) own];
  }

  /** Makes a table of zeros that every rank has. */
  public static Embedding replicated(Communicator group, int rows, int width) {
    check(rows, width);
    return new Embedding(group, true, rows, width);
  }

  /**
   * Makes a table of zeros of which rank i has the rows from {@code group.partStart(rows, i)} on.
   *
   * @param rows the number of rows, at least 1
   * @param width the number of elements of a row, at least 1
   */
  public static Embedding sharded(Communicator group, long rows, int width) {
    check(rows, width);
    return new Embedding(group, false, rows, width);
  }

  private static void check(long rows, int width) {
    if (rows < 1 || width < 1) {
      throw new IllegalArgumentException(
          "a table of " + rows + " rows of " + width + " numbers: must be at least 1 each");
    }
  }

  /** Returns the number of rows of the table. */
  public long rows() {
    return starts[group.size()];
  }

  /** Returns the number of elements of a row. */
  public int width() {
    return width;
  }

  /** Returns the first row of this rank. */
  public long firstRow() {
    return starts[group.rank()];
  }

  /**
   * Returns the rows of this rank, one after the other. The program sets them before the first
   * lookup, and saves them.
   */
  public float[] weights() {
    return weights;
  }

  /**
   * Looks up rows.
   *
   * @param indices the indices of rows, each any number of times
   * @param wanted the number of indices
   * @param vectors the array for {@code wanted} rows
   * @throws TrainingException if an index is no row; on all ranks if the table is sharded
   */
  public void lookup(long[] indices, int wanted, float[] vectors) {
    SlidingWindows.check("vectors", vectors, (long) wanted * width);
    if (wanted < 0 || wanted > indices.length) {
      throw new IllegalArgumentException(wanted + " of " + indices.length + " indices");
    }
    long bad = -1;
    boolean isBad = false;
    for (int i = 0; i < wanted && !isBad; i++) {
      isBad = indices[i] < 0 || indices[i] >= rows();
      bad = indices[i];
    }
    if (isReplicated) {
      if (isBad) {
        throw refused(group.rank(), bad);
      }
      count = wanted;
      asked = new int[wanted];
      for (int i = 0; i < wanted; i++) {
        asked[i] = (int) indices[i];
        System.arraycopy(weights, asked[i] * width, vectors, i * width, width);
      }
      return;
    }
    route(indices, wanted, isBad, bad);
    float[] answers = new float[Math.multiplyExact(asked.length, width)];
    for (int i = 0; i < asked.length; i++) {
      System.arraycopy(weights, asked[i] * width, answers, i * width, width);
    }
    float[] rows = new float[wanted * width];
    group.allToAll(Payload.of(answers), times(received), Payload.of(rows), times(sent));
    for (int i = 0; i < wanted; i++) {
      System.arraycopy(rows, i * width, vectors, order[i] * width, width);
    }
  }

  private TrainingException refused(int rank, long index) {
    return new TrainingException(
        "rank "
            + group.worldRank(rank)
            + " looks up row "
            + index
            + " of a table of "
            + rows()
            + ": indices are from 0 to "
            + (rows() - 1));
  }

  /** Sends each owner the indices that this rank requests. */
  private void route(long[] indices, int wanted, boolean isBad, long bad) {
    int ranks = group.size();
    int[] owners = new int[isBad ? 0 : wanted];
    long[] counts = new long[ranks];
    for (int i = 0; i < owners.length; i++) {
      owners[i] = owner(indices[i]);
      counts[owners[i]]++;
    }
    // Count, and what is wrong: 1 and the index.
    long[] out = new long[3 * ranks];
    for (int rank = 0; rank < ranks; rank++) {
      out[3 * rank] = counts[rank];
      out[3 * rank + 1] = isBad ? 1 : 0;
      out[3 * rank + 2] = bad;
    }
    long[] in = new long[3 * ranks];
    group.allToAll(Payload.of(out), Payload.of(in));
    long[] others = new long[ranks];
    for (int rank = 0; rank < ranks; rank++) {
      if (in[3 * rank + 1] == 1) {
        throw refused(rank, in[3 * rank + 2]);
      }
      others[rank] = in[3 * rank];
    }
    int[] at = new int[ranks];
    for (int rank = 1; rank < ranks; rank++) {
      at[rank] = at[rank - 1] + (int) counts[rank - 1];
    }
    int[] wantedRows = new int[wanted];
    int[] places = new int[wanted];
    for (int i = 0; i < wanted; i++) {
      int place = at[owners[i]]++;
      wantedRows[place] = (int) (indices[i] - starts[owners[i]]);
      places[place] = i;
    }
    int[] theirs = new int[Math.toIntExact(Arrays.stream(others).sum())];
    group.allToAll(Payload.of(wantedRows), counts, Payload.of(theirs), others);
    count = wanted;
    order = places;
    sent = counts;
    received = others;
    asked = theirs;
  }

  private int owner(long index) {
    int found = Arrays.binarySearch(starts, index);
    if (found < 0) {
      return -found - 2;
    }
    while (starts[found + 1] == index) { // Ranks without rows begin where the next one does.
      found++;
    }
    return found;
  }

  private long[] times(long[] counts) {
    return Arrays.stream(counts).map(rows -> rows * width).toArray();
  }

  /**
   * Adds the gradients of the rows of the last {@link #lookup} to those that the next {@link
   * #update} uses.
   *
   * @param vectorGradients a row for each lookup, in the same order
   */
  public void backward(float[] vectorGradients) {
    SlidingWindows.check("gradients of the vectors", vectorGradients, (long) count * width);
    float[] rows = vectorGradients;
    if (!isReplicated) {
      float[] out = new float[count * width];
      for (int i = 0; i < count; i++) {
        System.arraycopy(vectorGradients, order[i] * width, out, i * width, width);
      }
      rows = new float[asked.length * width];
      group.allToAll(Payload.of(out), times(sent), Payload.of(rows), times(received));
    }
    for (int i = 0; i < asked.length; i++) {
      isUsed[asked[i]] = 1;
      for (int j = 0; j < width; j++) {
        gradients[asked[i] * width + j] += rows[i * width + j];
      }
    }
  }

  /**
   * Updates the rows that any rank has looked up since the last update, and resets the lookups.
   *
   * @param optimizer the optimizer, always the same and no {@link
   *     io.collectives.training.optimizer.LayerwiseOptimizer}
   * @param step the number of this update, from 1
   */
  public void update(Optimizer optimizer, long step) {
    if (optimizer instanceof LayerwiseOptimizer) {
      throw new IllegalArgumentException(
          "optimizer "
              + optimizer.name()
              + " takes the norm of a whole table, of which some rows are updated: use one that"
              + " works element by element, as Optimizers.adam");
    }
    if (states.length != optimizer.stateCount()) {
      states = new float[optimizer.stateCount()][weights.length];
    }
    if (isReplicated) {
      group.allReduce(gradients, ReduceOp.SUM);
      group.allReduce(isUsed, ReduceOp.MAX);
    }
    for (int row = 0; row < isUsed.length; row++) {
      int first = row;
      while (row < isUsed.length && isUsed[row] == 1) {
        isUsed[row++] = 0;
      }
      if (row > first) { // Rows in a row are one loop.
        optimizer.update(weights, gradients, states, first * width, row * width, step);
        Arrays.fill(gradients, first * width, row * width, 0);
      }
    }
  }
}
