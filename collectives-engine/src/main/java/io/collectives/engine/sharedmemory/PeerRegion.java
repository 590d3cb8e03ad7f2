package io.collectives.engine.sharedmemory;

import io.collectives.spi.FrameBytes;

/**
 * A region of a peer, mapped by this rank. The mapping ends when the peer has said that it lends it
 * no more, and nobody here uses it. Used with the transport's lock held, but for the bytes.
 */
final class PeerRegion {
  private final Runnable endCounterpart;
  private final MappedMemory memory;
  private final FrameBytes bytes;
  private int uses;
  private boolean gone;

  /**
   * Mapped memory of a peer.
   *
   * @param endCounterpart ends the leases of this rank's region that belongs with it
   */
  PeerRegion(MappedMemory memory, Runnable endCounterpart) {
    this.memory = memory;
    this.endCounterpart = endCounterpart;
    bytes = new FrameBytes(memory.bytes());
  }

  FrameBytes bytes() {
    return bytes;
  }

  int length() {
    return bytes.bytes().capacity();
  }

  /** Whether nothing that was read from it or written to it has failed; else it is lost. */
  boolean isWhole() {
    return memory.isWhole();
  }

  void use() {
    uses++;
  }

  void useNoMore() {
    uses--;
    unmapIfUnused();
  }

  /** The peer lends it no more; nor does this rank lend it the one that belongs with it. */
  void ended() {
    gone();
    endCounterpart.run();
  }

  /** Nobody can name it any more. */
  void gone() {
    gone = true;
    unmapIfUnused();
  }

  private void unmapIfUnused() {
    if (gone && uses == 0) {
      memory.close();
    }
  }
}
