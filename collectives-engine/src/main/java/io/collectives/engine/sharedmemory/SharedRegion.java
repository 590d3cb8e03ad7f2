package io.collectives.engine.sharedmemory;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A region of this rank: a mapped file that its peers map, too, and that is deleted as soon as they
 * have. See {@link SharedMemoryLink} for how a region ends.
 */
final class SharedRegion implements Region {
  private final SharedMemoryTransport transport;
  private final int number;
  private final MappedMemory memory;
  private final ByteBuffer bytes;

  /** By peer: whether it is to hear of the end of this region, because it may have mapped it. */
  private final boolean[] isKnown;

  /** By peer: whether this region may be leased to it. */
  private final boolean[] isShared;

  /** By peer: whether it is still to say that it has mapped this region, or cannot. */
  private final boolean[] isAwaited;

  /** By peer: the region of the peer that was mapped last. */
  private final @Nullable PeerRegion[] mapped;

  private final List<PeerRegion> held = new ArrayList<>();
  private @Nullable Path file;
  private boolean closed;

  /**
   * A region of this rank.
   *
   * @param peers who may map it
   * @param file where they find it
   */
  SharedRegion(
      SharedMemoryTransport transport, int number, int[] peers, Path file, MappedMemory memory) {
    this.transport = transport;
    this.number = number;
    this.file = file;
    this.memory = memory;
    bytes = memory.bytes();
    isKnown = new boolean[transport.size()];
    isShared = new boolean[transport.size()];
    isAwaited = new boolean[transport.size()];
    mapped = new PeerRegion[transport.size()];
    for (int peer : peers) {
      isKnown[peer] = peer != transport.rank();
    }
  }

  @Override
  public int number() {
    return number;
  }

  @Override
  public ByteBuffer bytes() {
    return bytes.duplicate();
  }

  @Override
  public void map(int peer, int theirs) throws IOException {
    MappedMemory theirMemory =
        RingFile.open(transport.regionOf(peer, theirs), bytes.capacity(), transport.rank());
    PeerRegion region = new PeerRegion(theirMemory, () -> endFor(peer));
    transport.enter();
    try {
      transport.linkTo(peer).mapped(theirs, region);
      mapped[peer] = region;
    } finally {
      transport.leave();
    }
  }

  @Override
  public FrameBytes hold(int peer) throws IOException {
    transport.enter();
    try {
      PeerRegion region = mapped[peer];
      if (closed || region == null || !region.isMapped()) {
        throw new IOException("no region of rank " + peer + " is mapped");
      }
      region.use();
      held.add(region);
      return region.bytes();
    } finally {
      transport.leave();
    }
  }

  @Override
  public void share() {
    transport.enter();
    try {
      System.arraycopy(isKnown, 0, isShared, 0, isKnown.length);
      deleteFile();
    } finally {
      transport.leave();
    }
  }

  @Override
  public void announce() {
    transport.enter();
    try {
      for (int peer = 0; peer < isKnown.length; peer++) {
        // Bodies that have checksums are not leased.
        isKnown[peer] &= !closed && !transport.hasChecksums();
        if (isKnown[peer]) {
          isAwaited[peer] = true; // The answer may come at once.
          isAwaited[peer] &= transport.linkTo(peer).announce(number, bytes.capacity());
        }
      }
      deleteFileIfAllKnow();
    } finally {
      transport.leave();
    }
  }

  /** A peer has mapped this region, or cannot. The transport's lock is held. */
  void answered(int peer, boolean mapped) {
    if (!isAwaited[peer]) {
      throw new ProtocolException("region " + number + " is mapped, which was not announced");
    }
    isAwaited[peer] = false;
    isShared[peer] = mapped && isKnown[peer];
    isKnown[peer] &= mapped;
    deleteFileIfAllKnow();
  }

  /** The link to a peer is lost. The transport's lock is held. */
  void lost(int peer) {
    if (isAwaited[peer]) {
      isAwaited[peer] = false;
      deleteFileIfAllKnow();
    }
  }

  private void deleteFileIfAllKnow() {
    for (boolean awaited : isAwaited) {
      if (awaited) {
        return;
      }
    }
    deleteFile();
  }

  @Override
  public void check(int from, int length) {
    transport.enter();
    try {
      if (!closed) {
        memory.isWhole(from, from + length); // If not, it says so to whoever asks next.
      }
    } finally {
      transport.leave();
    }
  }

  @Override
  public void close() {
    transport.enter();
    try {
      if (closed) {
        return;
      }
      closed = true;
      deleteFile();
      for (int peer = 0; peer < isKnown.length; peer++) {
        endFor(peer);
      }
      held.forEach(PeerRegion::useNoMore);
      transport.closed(this);
    } finally {
      transport.leave();
      memory.close();
    }
  }

  boolean belongsTo(SharedMemoryTransport other) {
    return transport == other;
  }

  /** Checks whether the memory is gone; then the links to all peers that may use it are lost. */
  void loseIfCutOff() {
    if (!closed && !memory.isWhole()) {
      for (int peer = 0; peer < isKnown.length; peer++) {
        if (isKnown[peer]) {
          transport.linkTo(peer).regionCutOff(true);
        }
      }
    }
  }

  /** Returns whether it may be leased to a peer. */
  boolean isSharedWith(int peer) {
    return isShared[peer];
  }

  /** Stops leasing it to a peer, and tells the peer. The transport's lock is held. */
  void endFor(int peer) {
    if (isKnown[peer]) {
      isKnown[peer] = false;
      isShared[peer] = false;
      transport.linkTo(peer).endRegion(number);
    }
  }

  private void deleteFile() {
    Path made = file;
    if (made != null) {
      file = null;
      try {
        Files.deleteIfExists(made);
      } catch (IOException e) {
        transport.log().warn("cannot delete {}", made, e);
      }
      transport.regionFileGone();
    }
  }
}
