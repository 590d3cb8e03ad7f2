package io.collectives.engine.run;

import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The frame that is arriving from a peer: applied to a call, held, a notice, or (if none of these)
 * dropped.
 */
final class Inbound extends Target {
  final FrameBytes noticeBytes;
  int length;
  int received;

  @Nullable Call call;
  @Nullable HeldFrame held;

  /** The call that the held frame is of, if this rank had entered it when the frame came. */
  @Nullable Call heldFor;

  int lane;

  boolean isNotice;
  FrameHeader.Kind noticeKind = FrameHeader.Kind.FAILURE;
  long noticeGroup;

  /** If true, the peer has made a protocol error; then only its notices are looked at any more. */
  boolean isDistrusted;

  /** Room for a frame that is applied only when all of it is here. */
  private FrameBytes whole = new FrameBytes(ByteBuffer.allocateDirect(0));

  /** Makes the state of a peer whose notices have so many bytes at most. */
  Inbound(int longestNotice) {
    noticeBytes = new FrameBytes(ByteBuffer.allocate(longestNotice + 7 & ~7));
  }

  /** A notice arrives, of a length that there is room for. */
  void notice(FrameHeader head) {
    isNotice = true;
    noticeKind = head.kind;
    noticeGroup = head.group;
  }

  /**
   * The next bytes of a frame that is applied as a whole.
   *
   * @return all of it, if these were the last
   */
  @Nullable FrameBytes gather(FrameBytes source, int at, int bytes) {
    if (whole.bytes().capacity() < length) {
      whole = new FrameBytes(ByteBuffer.allocateDirect(length + 7 & ~7));
    }
    whole.bytes().put(received, source.bytes(), at, bytes);
    return received + bytes == length ? whole : null;
  }

  void drop() {
    call = null;
    held = null;
    heldFor = null;
    isNotice = false;
  }

  void over() {
    run().receiveOver(step());
    drop();
  }
}
