package io.collectives.engine.sharedmemory;

import io.collectives.spi.FrameBytes;

/**
 * A region of a peer, mapped by this rank. The mapping ends when the peer has said that it leases
 * it no more, and nobody here uses it. Used with the transport's lock held, but for the bytes.
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

  /** Returns whether nothing that was read from it or written to it has failed; else it is lost. */
  boolean isWhole() {
    return memory.isWhole();
  }

  /** Returns the same for sure, if only this rank writes some bytes now. */
  boolean isWhole(int from, int length) {
    // Words that are partly others' are left alone.
    return memory.isWhole(from + Long.BYTES - 1 & -Long.BYTES, from + length - Long.BYTES + 1);
  }

  /** Returns whether the mapping has not ended. */
  boolean isMapped() {
    return !gone || uses > 0;
  }

  void use() {
    uses++;
  }

  void useNoMore() {
    uses--;
    unmapIfUnused();
  }

  /**
   * Ends the use of a region that the peer leases no more; this rank does not lease the peer its
   * own region that belongs with it any more either.
   */
  void ended() {
    gone();
    endCounterpart.run();
  }

  /** Ends the mapping once no frame uses it: no frame that is still to come can name the region. */
  void gone() {
    gone = true;
    unmapIfUnused();
  }

  private void unmapIfUnused() {
    if (!isMapped()) {
      memory.close();
    }
  }
}
