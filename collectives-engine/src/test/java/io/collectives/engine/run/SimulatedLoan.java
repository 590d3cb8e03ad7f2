package io.collectives.engine.run;

import io.collectives.spi.FrameBytes;
import io.collectives.spi.LeasableBody;
import io.collectives.spi.LeasedBody;
import org.jspecify.annotations.Nullable;

/** A body that one rank lends another: what both of them see of it, as in the memory of the two. */
final class SimulatedLoan implements LeasableBody.Lease, LeasedBody {
  private enum State {
    OVER,
    LENT,
    HELD,
    REVOKED
  }

  private final SimulatedNetwork network;
  private final int lender;
  private final int borrower;
  private final SimulatedRegion[] regions;
  private final @Nullable SimulatedRegion[] targets;
  private final int[] offsets;
  private final int[] targetOffsets;
  private final int[] lengths;
  private final int length;
  private final boolean placed;
  private State state = State.LENT;

  SimulatedLoan(SimulatedNetwork network, LeasableBody body, int lender, int borrower) {
    this.network = network;
    this.lender = lender;
    this.borrower = borrower;
    placed = body.isPlaced();
    length = body.length();
    int pieces = placed ? 0 : body.pieces();
    regions = new SimulatedRegion[pieces];
    targets = new SimulatedRegion[pieces];
    offsets = new int[pieces];
    targetOffsets = new int[pieces];
    lengths = new int[pieces];
    for (int i = 0; i < pieces; i++) {
      regions[i] = (SimulatedRegion) body.region(i);
      offsets[i] = body.offset(i);
      lengths[i] = body.length(i);
      targets[i] = (SimulatedRegion) body.targetRegion(i);
      targetOffsets[i] = targets[i] == null ? 0 : body.targetOffset(i);
    }
  }

  // The lender's.

  @Override
  public boolean isOver() {
    boolean lost = network.hasLost(lender, borrower);
    if (lost) {
      revoke(); // Whoever loses a link takes back all that it has lent there.
    }
    return lost || state == State.OVER;
  }

  @Override
  public void revoke() {
    if (state == State.LENT) {
      state = State.REVOKED;
    } else if (state == State.HELD && !network.isDead(borrower)) {
      throw new AssertionError(
          "rank " + lender + " waits for rank " + borrower + ", which lives and writes for ever");
    }
  }

  // The borrower's.

  @Override
  public boolean holdOpen() {
    boolean lent = state == State.LENT;
    if (lent) {
      state = State.HELD;
    }
    return lent;
  }

  @Override
  public boolean isRevoked() {
    return !placed && (state == State.REVOKED || network.hasLost(borrower, lender));
  }

  @Override
  public void release() {
    if (!network.diesAtGivingBack(borrower)) {
      state = State.OVER;
    }
  }

  @Override
  public int pieces() {
    return regions.length;
  }

  @Override
  public FrameBytes region(int piece) {
    return regions[piece].shared();
  }

  @Override
  public int offset(int piece) {
    return offsets[piece];
  }

  @Override
  public int length(int piece) {
    return lengths[piece];
  }

  @Override
  public @Nullable FrameBytes targetRegion(int piece) {
    SimulatedRegion target = targets[piece];
    return target == null ? null : target.shared();
  }

  @Override
  public int targetOffset(int piece) {
    return targetOffsets[piece];
  }

  @Override
  public boolean isPlaced() {
    return placed;
  }

  @Override
  public int length() {
    return length;
  }

  @Override
  public void store(FrameBytes target, int at) {
    int to = at;
    for (int i = 0; i < regions.length; i++) {
      target.bytes().put(to, regions[i].shared().bytes(), offsets[i], lengths[i]);
      to += lengths[i];
    }
  }
}
