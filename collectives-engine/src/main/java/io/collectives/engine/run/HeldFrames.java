package io.collectives.engine.run;

import io.collectives.spi.FrameHeader;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** The held frames of a rank and their buffers, which are used again and bounded in all. */
final class HeldFrames {
  private final long limit;
  private final boolean areViews;
  private final Deque<HeldFrame> free = new ArrayDeque<>();
  private long bytes;

  /**
   * At most {@code limit} bytes are held at once.
   *
   * @param areViews whether what is held stays in the memory of its sender, so that it takes none
   */
  HeldFrames(long limit, boolean areViews) {
    this.limit = limit;
    this.areViews = areViews;
  }

  long limit() {
    return limit;
  }

  /** A frame to hold; nothing if that would be too much. */
  @Nullable HeldFrame take(int peer, FrameHeader header) {
    long length = length(header);
    if (bytes + length > limit) {
      return null;
    }
    bytes += length;
    HeldFrame frame = free.poll();
    if (frame == null) {
      frame = new HeldFrame();
    }
    frame.begin(peer, header);
    return frame;
  }

  private long length(FrameHeader header) {
    return areViews || header.lent ? 0 : header.length;
  }

  /** Gives back a frame that has been applied. */
  void giveBack(HeldFrame frame) {
    bytes -= length(frame.header);
    free.add(frame);
  }

  /** Gives back a frame that nobody wants, of which bytes may still be on their way. */
  void discard(HeldFrame frame) {
    if (frame.view != null) {
      frame.view.release();
      frame.view = null;
    }
    if (frame.isComplete()) {
      giveBack(frame);
    } else {
      frame.unwanted = true;
    }
  }
}
