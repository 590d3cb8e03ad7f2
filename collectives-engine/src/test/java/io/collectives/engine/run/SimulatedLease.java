package io.collectives.engine.run;

import io.collectives.spi.FrameBytes;
import io.collectives.spi.LeasableBody;
import io.collectives.spi.LeasedBody;
import org.jspecify.annotations.Nullable;

/** A body that one rank leases to another: what both of them see of it, as in their memory. */
final class SimulatedLease implements LeasableBody.Lease, LeasedBody {
  private enum State {
    OVER,
    GRANTED,
    HELD,
    REVOKED
  }

  private final SimulatedNetwork network;
  private final int owner;
  private final int lessee;
  private final SimulatedRegion[] regions;
  private final @Nullable SimulatedRegion[] targets;
  private final int[] offsets;
  private final int[] targetOffsets;
  private final int[] lengths;
  private final int length;
  private final boolean placed;
  private State state = State.GRANTED;

  SimulatedLease(SimulatedNetwork network, LeasableBody body, int owner, int lessee) {
    this.network = network;
    this.owner = owner;
    this.lessee = lessee;
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

  // The owner's.

  @Override
  public boolean isOver() {
    boolean lost = network.hasLost(owner, lessee);
    if (lost) {
      revoke(); // Whoever loses a link takes back all that it has leased there.
    }
    return lost || state == State.OVER;
  }

  @Override
  public void revoke() {
    if (state == State.GRANTED) {
      state = State.REVOKED;
    } else if (state == State.HELD && !network.isDead(lessee)) {
      throw new AssertionError(
          "rank " + owner + " waits for rank " + lessee + ", which lives and writes for ever");
    }
  }

  // The lessee's.

  @Override
  public boolean holdOpen() {
    boolean granted = state == State.GRANTED;
    if (granted) {
      state = State.HELD;
    }
    return granted;
  }

  @Override
  public boolean isRevoked() {
    return !placed && (state == State.REVOKED || network.hasLost(lessee, owner));
  }

  @Override
  public void release() {
    if (!network.diesAtRelease(lessee)) {
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
