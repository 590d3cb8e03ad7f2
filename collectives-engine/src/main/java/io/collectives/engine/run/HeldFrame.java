package io.collectives.engine.run;

import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** A frame whose turn has not come, or whose call this rank has not entered. Reused. */
final class HeldFrame extends Target {
  final FrameHeader header = new FrameHeader();

  /** The world rank that sent it. */
  int peer;

  /** The sender's memory, if the transport gave it; else the bytes are in {@link #bytes}. */
  @Nullable View view;

  /** If true, its call has ended while bytes of it were still to come. */
  boolean unwanted;

  /** If true, its link was lost before all of it was here. */
  boolean isCutOff;

  /** The number of bytes that it takes of the memory of {@link HeldFrames}. */
  long size;

  private FrameBytes bytes = new FrameBytes(ByteBuffer.allocateDirect(0));
  private int received;

  void begin(int from, FrameHeader head, long bytesTaken) {
    peer = from;
    size = bytesTaken;
    isCutOff = false;
    header.copyFrom(head);
    received = 0;
    unwanted = false;
    view = null;
  }

  void take(FrameBytes source, int at, int length) {
    makeRoom();
    bytes.bytes().put(received, source.bytes(), at, length);
    received += length;
  }

  void take(View body) {
    view = body;
    received = header.length;
  }

  boolean isComplete() {
    return received == header.length;
  }

  /** The bytes, which are copied here if the transport gave the sender's memory. */
  FrameBytes bytes() {
    View body = view;
    FrameBytes copy = body == null ? null : body.copy();
    if (copy != null) {
      return copy;
    }
    if (body != null) {
      makeRoom();
      body.store(bytes, 0);
    }
    return bytes;
  }

  private void makeRoom() {
    if (capacity() < header.length) {
      bytes = new FrameBytes(ByteBuffer.allocateDirect(capacity(header.length)));
    }
  }

  /** The length of its buffer. */
  int capacity() {
    return bytes.bytes().capacity();
  }

  /** The length of a buffer for a body. */
  static int capacity(int length) {
    return length + 7 & ~7;
  }
}
