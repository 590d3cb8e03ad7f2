package io.collectives;

import java.util.stream.IntStream;

/** A reduction by all-reduces, with a group of the same ranks for each lane. */
final class AllReduceLanes implements BufferReduction {

  private final Communicator[] lanes;

  /** True if the rounding error of a buffer is kept and added in its next step. */
  private final boolean feedsBack;

  private final Residuals residuals = new Residuals();

  AllReduceLanes(Communicator group, int lanes) {
    if (lanes < 1 || lanes > MOST_LANES) {
      throw new IllegalArgumentException(
          "reduction in " + lanes + " lanes: must be from 1 to " + MOST_LANES);
    }
    this.lanes = new Communicator[lanes];
    for (int lane = 0; lane < lanes; lane++) {
      this.lanes[lane] = sameRanks(group);
    }
    CallSettings settings = group.settings();
    this.feedsBack =
        settings.wireType() == WireType.INT8
            && !settings.repeatability().needsAllAtOnce()
            && !settings.algorithm().equals(Algorithm.exchange());
  }

  /** Makes a group of the same ranks whose calls have an order of their own. */
  static Communicator sameRanks(Communicator group) {
    return group.group(IntStream.range(0, group.size()).toArray());
  }

  @Override
  public int lanes() {
    return lanes.length;
  }

  @Override
  public CollectiveHandle reduce(int index, Payload buffer, ReduceOp op) {
    Communicator lane = lanes[index % lanes.length];
    return feedsBack && buffer.type() == ElementType.FLOAT32
        ? lane.async().allReduce(buffer, buffer, op, residuals.of(index, buffer.count(), op))
        : lane.async().allReduce(buffer, op);
  }

  @Override
  public void abort(String reason) {
    for (Communicator lane : lanes) {
      lane.abort(reason);
    }
  }

  @Override
  public void close() {
    for (Communicator lane : lanes) {
      lane.close();
    }
  }

  @Override
  public String toString() {
    return "all-reduce in " + lanes.length + (lanes.length == 1 ? " lane" : " lanes");
  }
}
