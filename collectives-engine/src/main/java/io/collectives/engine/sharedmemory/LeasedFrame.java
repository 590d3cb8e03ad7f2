package io.collectives.engine.sharedmemory;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.LeasedBody;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A frame whose body a peer has leased to this rank. The object is reused; it belongs to a {@link
 * Lessee}.
 */
final class LeasedFrame implements LeasedBody {
  /** The link that a frame has come by. */
  interface Lessee {

    /** Returns the memory that the two ranks share; null once they do not share it any more. */
    @Nullable PairMemory memory();

    /**
     * Notes that the peer has begun a lease, and returns its number.
     *
     * @throws ProtocolException if the one before with this state is not over
     */
    long beginLease(int state);

    /** Returns a region that the peer leases, if it is mapped here. */
    @Nullable PeerRegion regionOfPeer(int number);

    /**
     * Returns whether the memory of a region that the peer leases is gone; then the link is lost.
     */
    boolean loseIfCutOff(PeerRegion region);

    /** Returns whether memory of a frame is gone; then the link is lost. */
    boolean isCutOff(LeasedFrame frame);

    /** Goes on after an error if memory of this rank's links is gone; they are lost then. */
    void survive(InternalError fault);

    /** Ends the lease of a frame: the peer may have its memory back. */
    void endLease(LeasedFrame frame);
  }

  private final Lessee link;
  private PeerRegion[] regions = new PeerRegion[1];
  private @Nullable PeerRegion[] targets = new PeerRegion[1];
  private int[] offsets = new int[1];
  private int[] targetOffsets = new int[1];
  private int[] lengths = new int[1];
  private int pieces;
  private int length;
  private int state;
  private long number; // Of the lease.
  private boolean held;

  LeasedFrame(Lessee link) {
    this.link = link;
  }

  /**
   * Reads the places of the body from a record.
   *
   * @param bodyLength as the header says
   * @throws ProtocolException if it names what is not there
   */
  void read(Ring.Reader from, int bodyLength) {
    int count = from.pieces();
    state = from.state();
    length = bodyLength;
    pieces = 0;
    if (bodyLength <= 0
        || state < -1
        || state >= Ring.LeaseStates.COUNT
        || (state < 0) != (count == 0)) {
      throw new ProtocolException(
          "a leased body of "
              + bodyLength
              + " bytes in "
              + count
              + " pieces, with state "
              + state
              + " of "
              + Ring.LeaseStates.COUNT);
    }
    held = false;
    number = state < 0 ? 0 : link.beginLease(state);
    if (count > lengths.length) {
      regions = new PeerRegion[count];
      targets = new PeerRegion[count];
      offsets = new int[count];
      targetOffsets = new int[count];
      lengths = new int[count];
    }
    long sum = 0;
    for (int i = 0; i < count; i++) {
      int pieceLength = from.length(i);
      int offset = from.offset(i);
      int targetOffset = from.targetOffset(i);
      int targetRegion = from.targetRegion(i);
      regions[i] = find(from.region(i), offset, pieceLength);
      targets[i] = targetRegion < 0 ? null : find(targetRegion, targetOffset, pieceLength);
      offsets[i] = offset;
      targetOffsets[i] = targetOffset;
      lengths[i] = pieceLength;
      sum += pieceLength;
    }
    if (count > 0 && sum != bodyLength) {
      throw new ProtocolException(
          "a leased body of " + bodyLength + " bytes whose pieces have " + sum + " bytes");
    }
    pieces = count;
    for (int i = 0; i < count; i++) {
      regions[i].use();
      PeerRegion target = targets[i];
      if (target != null) {
        target.use();
      }
    }
  }

  private PeerRegion find(int number, int offset, int pieceLength) {
    PeerRegion region = link.regionOfPeer(number);
    if (region == null) {
      throw new ProtocolException("a body in region " + number + ", which is not here");
    }
    if (offset < 0 || pieceLength < 0 || offset > region.length() - pieceLength) {
      throw new ProtocolException(
          "bytes "
              + offset
              + "+"
              + pieceLength
              + " of region "
              + number
              + ", which has "
              + region.length());
    }
    return region;
  }

  @Override
  public int length() {
    return length;
  }

  @Override
  public int pieces() {
    return pieces;
  }

  @Override
  public FrameBytes region(int piece) {
    return regions[piece].bytes();
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
    PeerRegion target = targets[piece];
    return target == null ? null : target.bytes();
  }

  @Override
  public int targetOffset(int piece) {
    return targetOffsets[piece];
  }

  @Override
  public boolean isPlaced() {
    return state < 0;
  }

  @Override
  public boolean holdOpen() {
    PairMemory memory = link.memory();
    try {
      held = memory != null && memory.leasesIn.hold(state, number);
      return held;
    } catch (InternalError e) {
      link.survive(e);
      return false;
    }
  }

  @Override
  public boolean isRevoked() {
    if (state < 0) {
      return false;
    }
    try {
      if (link.isCutOff(this)) {
        return true;
      }
      VarHandle.acquireFence();
      PairMemory memory = link.memory();
      return memory == null || !memory.leasesIn.isGranted(state, number) && !held;
    } catch (InternalError e) {
      link.survive(e);
      return true;
    }
  }

  /** Returns whether memory that the body lies in, or is to be written to, is gone. */
  boolean isCutOff() {
    for (int i = 0; i < pieces; i++) {
      PeerRegion target = targets[i];
      if (held && target != null) {
        target.isWhole(targetOffsets[i], lengths[i]); // Where nobody else reads or writes now.
      }
      if (link.loseIfCutOff(regions[i])
          || target != null && target != regions[i] && link.loseIfCutOff(target)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void store(FrameBytes target, int at) {
    int to = at;
    for (int i = 0; i < pieces; i++) {
      target.bytes().put(to, regions[i].bytes().bytes(), offsets[i], lengths[i]);
      to += lengths[i];
    }
  }

  @Override
  public void release() {
    link.endLease(this);
  }

  /** Ends the lease, so that the peer may have its memory back. */
  void end(Ring.LeaseStates states) {
    states.end(state, number);
  }

  void useNoMore() {
    for (int i = 0; i < pieces; i++) {
      regions[i].useNoMore();
      PeerRegion target = targets[i];
      if (target != null) {
        target.useNoMore();
      }
    }
    pieces = 0;
    Arrays.fill(targets, null);
  }
}
