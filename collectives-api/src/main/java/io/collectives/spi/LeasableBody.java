package io.collectives.spi;

import org.jspecify.annotations.Nullable;

/**
 * A body that may lie in {@link Region}s, piece by piece, so that a transport can lease it: the
 * receiver reads it, and puts a result in its place, where it is.
 */
public interface LeasableBody extends FrameBody {

  /** The number of pieces; 0 if it must be copied. */
  int pieces();

  /** The region in which a piece lies. */
  Region region(int piece);

  /** The first byte of a piece in its region. */
  int offset(int piece);

  /** The length of a piece in bytes. */
  int length(int piece);

  /** The region in which the receiver may put what is to come in place of a piece, if any. */
  @Nullable Region targetRegion(int piece);

  /** The first byte of that. */
  int targetOffset(int piece);

  /** Returns whether the receiver has the bytes already, so that the frame only announces them. */
  boolean isPlaced();

  /**
   * It was leased. Whoever sends asks the lease from now on whether it is back; {@link #release} is
   * not called.
   */
  void leased(Lease lease);

  /** The sender's view of a leased body. */
  interface Lease {

    /**
     * Returns whether the receiver will not touch the body any more. The sender asks until this is
     * true.
     */
    boolean isOver();

    /**
     * Takes it back: the receiver will see that what it has read may be wrong. If it is about to
     * write, this waits for that moment to pass.
     */
    void revoke();
  }
}
