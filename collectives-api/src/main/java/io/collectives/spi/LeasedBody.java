package io.collectives.spi;

import org.jspecify.annotations.Nullable;

/**
 * A {@link LeasableBody} at its receiver: the memory of another process, to be used until it is
 * {@linkplain #release released}. Lengths and places have been checked: each piece lies in its
 * region, and all together are as long as the header says.
 *
 * <p><b>Threads.</b> Those of a {@link Transport}.
 */
public interface LeasedBody extends FrameBody {

  /** The number of pieces. */
  int pieces();

  /** The bytes of the region in which a piece lies. */
  FrameBytes region(int piece);

  /** The first byte of a piece in its region. */
  int offset(int piece);

  /** The length of a piece in bytes. */
  int length(int piece);

  /**
   * The bytes of the region in which a result may be put in place of a piece, if {@link #holdOpen}
   * says yes; nothing if there is no such place.
   */
  @Nullable FrameBytes targetRegion(int piece);

  /** The first byte of that. */
  int targetOffset(int piece);

  /** Returns whether the bytes are in place already; then there are no pieces. */
  boolean isPlaced();

  /**
   * Keeps the sender's memory what it is until the release, even if its call fails. To be asked
   * before anything is written there.
   *
   * @return whether it does; if not, the sender's call has failed
   */
  boolean holdOpen();

  /**
   * Returns whether the bytes that were just read may have been written over meanwhile, because the
   * sender's call has failed, or the memory is gone.
   */
  boolean isRevoked();
}
