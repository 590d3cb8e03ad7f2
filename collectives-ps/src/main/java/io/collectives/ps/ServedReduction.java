package io.collectives.ps;

import io.collectives.BufferReduction;
import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.NumberedReduction;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Residuals;
import io.collectives.WireType;
import java.util.List;

/** A worker's end of {@link ParameterServers}: a group of all ranks for each lane. */
final class ServedReduction implements BufferReduction {
  /** So many buffers are reduced one after the other, all but the last beside the backward pass. */
  private static final int BUFFERS = 16;

  /**
   * The length of a server's share of a buffer, which should fill a frame of the default settings.
   */
  private static final int SHARE_LENGTH = 128 << 10;

  /**
   * The length of the longest element; shares are whole numbers of elements, whatever their type.
   */
  private static final int LONGEST_ELEMENT = 8;

  private static final long LONGEST = 1 << 30;

  private final List<Communicator> lanes;

  /** The groups of which the lanes are views. */
  private final List<Communicator> groups;

  private final Roles roles;

  /** True if the rounding error of a buffer is kept and added in its next step. */
  private final boolean feedsBack;

  private final Residuals residuals = new Residuals();

  ServedReduction(List<Communicator> lanes, List<Communicator> groups, Roles roles) {
    this.lanes = lanes;
    this.groups = groups;
    this.roles = roles;
    CallSettings settings = lanes.get(0).settings();
    this.feedsBack =
        settings.wireType() == WireType.INT8 && !settings.repeatability().needsAllAtOnce();
  }

  @Override
  public int lanes() {
    return lanes.size();
  }

  @Override
  public CollectiveHandle reduce(int index, Payload buffer, ReduceOp op) {
    Communicator lane = lanes.get(index % lanes.size());
    if (!feedsBack || buffer.type() != ElementType.FLOAT32) {
      return lane.async().allReduce(buffer, op);
    }
    Payload residual = residuals.of(index, buffer.count(), op);
    return lane.async() instanceof NumberedReduction numbered
        ? numbered.allReduce(buffer, buffer, op, residual, index + 1)
        : lane.async().allReduce(buffer, buffer, op, residual);
  }

  @Override
  public BufferLength balancedLength(long modelLength) {
    return balancedLength(modelLength, roles.servers());
  }

  static BufferLength balancedLength(long modelLength, int servers) {
    long step = (long) LONGEST_ELEMENT * servers;
    long part = (modelLength + BUFFERS - 1) / BUFFERS;
    long least = (long) SHARE_LENGTH * servers;
    long wanted = Math.min(LONGEST, Math.max(part, least));
    long length = Math.max(1, (wanted + step - 1) / step) * step;
    String whole = "the model's " + modelLength + " bytes";
    String reason =
        part >= least
            ? "1/" + BUFFERS + " of " + whole
            : SHARE_LENGTH
                + " for each of "
                + servers
                + " servers, more than 1/"
                + BUFFERS
                + " of "
                + whole;
    return new BufferLength(
        Math.toIntExact(length),
        (wanted == LONGEST ? "at most 1 GiB, less than " : "")
            + reason
            + ", in equal parts for "
            + servers
            + (servers == 1 ? " server" : " servers"));
  }

  @Override
  public void abort(String reason) {
    lanes.forEach(lane -> lane.abort(reason));
  }

  @Override
  public void close() {
    groups.forEach(Communicator::close);
  }

  @Override
  public String toString() {
    return "parameter servers ("
        + roles
        + ") in "
        + lanes.size()
        + (lanes.size() == 1 ? " lane" : " lanes");
  }
}
