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
  final FrameBytes noticeBytes = new FrameBytes(ByteBuffer.allocate(Failure.MAX_LENGTH));
  int length;
  int received;
  @Nullable Call call;
  @Nullable HeldFrame held;
  boolean isNotice;
  long noticeGroup;

  void notice(FrameHeader head) {
    isNotice = head.length <= Failure.MAX_LENGTH;
    noticeGroup = head.group;
  }

  void drop() {
    call = null;
    held = null;
    isNotice = false;
  }

  void over() {
    run.receiveOver(step);
    drop();
  }
}
