package io.collectives.engine.choice;

import io.collectives.CallSettings;
import io.collectives.spi.BodyViews;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Transport;
import java.util.Locale;

/**
 * By what the ranks of a group reach each other; the first word of a row of a {@linkplain
 * AlgorithmTable table}. A group has one of the last four, and maybe the first ones beside it.
 */
public enum Locality {
  /**
   * Exchanges of few bytes, and of short parts, need no frames, because each rank has a slot at
   * every other.
   */
  SLOTS,

  /**
   * Exchanges of up to 128 KiB and direct reductions of up to 256 KiB need no frames, because each
   * rank reaches the memory of the others.
   */
  BUFFERS,

  /** The group has allocated memory that all its ranks reach. */
  LEASES,

  /** Threads of one JVM, which read each other's arrays. */
  THREADS,

  /** Processes that share memory. */
  SHARED_MEMORY,

  /** Connections, and whatever mixes them with shared memory on one host. */
  SOCKETS,

  /** Several hosts, on some of which several ranks share memory. */
  HOSTS;

  /** Longer than others, because threads read each other's arrays, and messages cost most. */
  private static final int BETWEEN_THREADS = 512 << 10;

  private static final int IN_MEMORY = 128 << 10;

  /**
   * A segment of TCP on a loopback interface, whose MTU is 64 KiB, holds 65,483 bytes, and one that
   * is all but empty costs about what a full one does. Three hold 196,449 bytes, and a frame with
   * its header has 196,416: a multiple of a cache line.
   */
  private static final int OVER_SOCKETS = 196_288;

  /** Returns the locality of a job on one host, or whose hosts have a rank each. */
  public static Locality of(Transport transport) {
    return transport.capability(BodyViews.class) != null
        ? THREADS
        : MemoryLeases.ofAll(transport) != null ? SHARED_MEMORY : SOCKETS;
  }

  /** The settings with what they leave to the transport. */
  public CallSettings resolved(CallSettings settings) {
    return settings.frameLength() == CallSettings.AUTO
        ? settings.withFrameLength(frameLength())
        : settings;
  }

  private int frameLength() {
    return switch (this) {
      case THREADS -> BETWEEN_THREADS;
      case SHARED_MEMORY -> IN_MEMORY;
      default -> OVER_SOCKETS;
    };
  }

  /** Returns whether it is a trait beside one of the last four. */
  boolean isNotTuned() {
    return this == SLOTS || this == BUFFERS || this == LEASES;
  }

  /** The word in tables: {@code shared-memory}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
