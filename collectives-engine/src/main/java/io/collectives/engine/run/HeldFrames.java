package io.collectives.engine.run;

import io.collectives.spi.FrameHeader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The held frames of a rank and their buffers, which are used again. All of them together are
 * bounded: what is held, with what each frame takes beside its body, and what is kept for reuse.
 */
final class HeldFrames {
  /** The bytes that a frame takes at most beside its body: the objects of it, and of its buffer. */
  static final int OVERHEAD = 512;

  private final long limit;
  private final Deque<HeldFrame> free = new ArrayDeque<>();

  /** Frames of calls that this rank has not entered, in the order of arrival. */
  private final List<HeldFrame> early = new ArrayList<>();

  private long heldBytes;
  private long freeBytes;
  private int held;

  /** At most {@code limit} bytes are taken at once. */
  HeldFrames(long limit) {
    this.limit = limit;
  }

  long limit() {
    return limit;
  }

  /** Returns the number of frames that are held. */
  int held() {
    return held;
  }

  /** Returns the number of bytes that they take. */
  long heldBytes() {
    return heldBytes;
  }

  List<HeldFrame> early() {
    return early;
  }

  /**
   * A frame to hold.
   *
   * @param isView whether its body stays in the memory of its sender, so that it takes none
   * @return nothing if that would be too much
   */
  @Nullable HeldFrame take(int peer, FrameHeader header, boolean isView) {
    HeldFrame frame = free.pollLast();
    if (frame == null) {
      frame = new HeldFrame();
    } else {
      freeBytes -= frame.size;
    }
    int body = isView ? 0 : header.length;
    long size = (long) OVERHEAD + Math.max(frame.capacity(), HeldFrame.capacity(body));
    while (heldBytes + freeBytes + size > limit && !free.isEmpty()) {
      freeBytes -= free.removeFirst().size;
    }
    if (heldBytes + size > limit) {
      return null;
    }
    heldBytes += size;
    held++;
    frame.begin(peer, header, size);
    frame.isView = isView;
    return frame;
  }

  /** Gives back a frame that has been applied. */
  void giveBack(HeldFrame frame) {
    heldBytes -= frame.size;
    held--;
    // A view may have been copied meanwhile, for want of memory that can be read in place.
    frame.size = OVERHEAD + frame.capacity();
    if (heldBytes + freeBytes + frame.size <= limit) {
      freeBytes += frame.size;
      free.addLast(frame);
    }
  }

  /** Gives back a frame that nobody wants, of which bytes may still be on their way. */
  void discard(HeldFrame frame) {
    if (frame.view != null) {
      frame.view.release();
      frame.view = null;
    }
    if (frame.isComplete() || frame.isCutOff) {
      giveBack(frame);
    } else {
      frame.unwanted = true;
    }
  }

  /** Ends a frame of which no more bytes will come. */
  void cutOff(HeldFrame frame) {
    frame.isCutOff = true;
    if (frame.unwanted) {
      giveBack(frame);
    }
  }

  /** Discards the early frames of a group that is broken. */
  void forgetGroup(long group) {
    for (int i = early.size() - 1; i >= 0; i--) {
      if (early.get(i).header.group == group) {
        discard(early.remove(i));
      }
    }
  }

  /** Discards the early frames of a rank that is lost. */
  void forgetPeer(int peer) {
    for (int i = early.size() - 1; i >= 0; i--) {
      if (early.get(i).peer == peer) {
        discard(early.remove(i));
      }
    }
  }
}
