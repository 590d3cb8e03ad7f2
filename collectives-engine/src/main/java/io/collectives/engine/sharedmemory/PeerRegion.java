package io.collectives.engine.sharedmemory;

import io.collectives.spi.FrameBytes;

/**
 * A region of a peer, mapped by this rank. The mapping ends when the peer has said that it lends it
 * no more, and nobody here uses it. Used with the transport's lock held, but for the bytes.
 */
final class PeerRegion {
  private final SharedRegion counterpart;
  private final MappedMemory memory;
  private final FrameBytes bytes;
  private int uses;
  private boolean gone;

  /**
   * Mapped memory of a peer.
   *
   * @param counterpart this rank's region that belongs with it
   */
  PeerRegion(SharedRegion counterpart, MappedMemory memory) {
    this.counterpart = counterpart;
    this.memory = memory;
    bytes = new FrameBytes(memory.bytes());
  }

  SharedRegion counterpart() {
    return counterpart;
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

  /** The peer lends it no more. */
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
