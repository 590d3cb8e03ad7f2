package io.collectives.training;

import io.collectives.training.exact.Squares;
import java.util.ArrayList;
import java.util.List;

/**
 * The assignment of the elements of tensors to the ranks that own them.
 *
 * <pre>
 *   tensors      | a a a a a . | b b . | c c c c c c c |      . fills a tensor up to whole blocks
 *   buckets      |  bucket 0       |  bucket 1       |        of one length, but for the last
 *   of n = 3     | r0  | r1  | r2  | r0  | r1  | r2  |        each is split evenly over the ranks
 * </pre>
 *
 * All borders lie between blocks of 64 elements of a tensor, so that the norm of a tensor does not
 * depend on them. A rank's own parts of all buckets, one after the other, are its <em>shard</em>.
 */
final class ShardLayout {

  /**
   * A run of elements of a tensor that a rank owns.
   *
   * @param offset the index of the first one in the tensor
   * @param local its index in the shard
   */
  record Run(int tensor, int offset, int local, int count) {}

  /**
   * A part of a bucket: elements of a tensor, or fill.
   *
   * @param tensor the index of the tensor, -1 for fill
   */
  record Piece(int tensor, int offset, int count) {}

  /**
   * A bucket of elements that are reduced together.
   *
   * @param local the index in the shard at which this rank's part begins
   * @param part the number of elements of each rank's part
   * @param pieces the pieces of the whole bucket
   * @param runs the runs of this rank's part
   */
  record Bucket(int local, int part, List<Piece> pieces, List<Run> runs) {}

  final List<Bucket> buckets = new ArrayList<>();

  /** The number of elements of a rank's shard, fill included. */
  final int shardCount;

  private final long[] starts;
  private final int[] counts;

  /**
   * Computes the layout.
   *
   * @param counts the number of elements of each tensor
   * @param bucketLength the length of a bucket in bytes
   */
  ShardLayout(int[] counts, int bucketLength, int ranks, int rank) {
    this.counts = counts;
    this.starts = new long[counts.length + 1];
    for (int i = 0; i < counts.length; i++) {
      starts[i + 1] = starts[i] + roundedUp(counts[i], Squares.BLOCK);
    }
    long total = starts[counts.length];
    long granule = (long) Squares.BLOCK * ranks;
    long bucketCount = roundedUp(bucketLength / Float.BYTES + 1L, granule);
    long local = 0;
    for (long from = 0; from < total; from += bucketCount) {
      long to = Math.min(total, from + bucketCount);
      long padded = roundedUp(to - from, granule);
      long part = padded / ranks;
      if (local + part > Integer.MAX_VALUE - 8) {
        throw new IllegalArgumentException(
            "a model of "
                + total
                + " parameters on "
                + ranks
                + " ranks: a shard may have 2^31 - 9 elements at most; use more ranks");
      }
      List<Run> runs = new ArrayList<>();
      long own = from + part * rank;
      int at = (int) local;
      for (Piece piece : pieces(own, own + part)) {
        if (piece.tensor >= 0) {
          runs.add(new Run(piece.tensor, piece.offset, at, piece.count));
        }
        at += piece.count;
      }
      buckets.add(
          new Bucket((int) local, (int) part, pieces(from, from + padded), List.copyOf(runs)));
      local += part;
    }
    this.shardCount = (int) local;
  }

  private static long roundedUp(long count, long multiple) {
    return (count + multiple - 1) / multiple * multiple;
  }

  /**
   * Returns the pieces between two positions in the sequence of all tensors; it may end after the
   * last one.
   */
  private List<Piece> pieces(long from, long to) {
    List<Piece> pieces = new ArrayList<>();
    long at = from;
    for (int i = 0; i < counts.length && at < to; i++) {
      if (at >= starts[i + 1]) {
        continue;
      }
      long end = starts[i] + counts[i];
      if (at < end) {
        long last = Math.min(end, to);
        pieces.add(new Piece(i, (int) (at - starts[i]), (int) (last - at)));
        at = last;
      }
      long filled = Math.min(starts[i + 1], to);
      if (at < filled) {
        pieces.add(new Piece(-1, 0, (int) (filled - at)));
        at = filled;
      }
    }
    if (at < to) {
      pieces.add(new Piece(-1, 0, (int) (to - at)));
    }
    return List.copyOf(pieces);
  }
}
