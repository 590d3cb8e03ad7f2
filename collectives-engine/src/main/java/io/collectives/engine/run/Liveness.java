package io.collectives.engine.run;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Transport;
import java.net.SocketTimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Finds peers that have stopped without their connection ending: frozen, or behind a dead network.
 *
 * <p>Any byte of a peer is a sign of life. A rank that has said nothing to a peer for a sixteenth
 * of the limit sends it a heartbeat; a peer that was silent for the limit is given up, once and for
 * all, but still gets heartbeats: it may go on, and must not blame this rank in turn. A peer of a
 * lower rank has an eighth of the limit more: if nothing passes between two ranks that both live,
 * the lower one judges first and tells all others, before the higher one blames it in turn. Their
 * last signs of life are less than that apart. Only the peers of a plan that was used, and those
 * that something has come from or gone to, are watched; so a ring of thousands watches two.
 *
 * <p>A rank that was itself stopped must not blame the others for its own silence: if it has not
 * looked for half of the limit, all peers get the whole limit anew. And if it was stopped for about
 * as long as others wait, they may have given it up and ended their connections; so what it loses
 * when it goes on may live.
 */
final class Liveness {
  /** Hears of peers that are given up. */
  interface Losses {
    /** A peer is lost, for a reason, or has left. */
    void lost(int peer, @Nullable Throwable cause);
  }

  private final Transport transport;
  private final long limitNanos;
  private final FrameHeader header = new FrameHeader();
  private final boolean[] watched;
  private final boolean[] givenUp;
  private final long[] heardNanos;
  private final long[] saidNanos;
  private long now;
  private long lookedNanos;

  /** Until when the end of a connection is no sign of a death. */
  private long doubtsUntil;

  Liveness(Transport transport, long limitNanos, long now) {
    this.transport = transport;
    this.limitNanos = limitNanos;
    this.watched = new boolean[transport.size()];
    this.givenUp = new boolean[transport.size()];
    this.heardNanos = new long[transport.size()];
    this.saidNanos = new long[transport.size()];
    this.now = now;
    this.lookedNanos = now;
    this.doubtsUntil = now;
  }

  /** Returns whether a connection that has ended may be that of a rank which lives. */
  boolean isDoubtful() {
    return now - doubtsUntil < 0;
  }

  /** Sets the time, which holds until this is called again. */
  void begin(long time) {
    if (time - now > limitNanos / 4 * 3) {
      doubtsUntil = time + limitNanos / 2;
    }
    if (time - now > limitNanos / 2) {
      for (int peer = 0; peer < watched.length; peer++) {
        heardNanos[peer] = time;
      }
    }
    now = time;
  }

  /** Something has come from a peer. */
  void heard(int peer) {
    watch(peer);
    heardNanos[peer] = now;
  }

  /** Something has gone to a peer. */
  void said(int peer) {
    watch(peer);
    saidNanos[peer] = now;
  }

  /** A peer has left or is lost. */
  void forget(int peer) {
    watched[peer] = false;
    givenUp[peer] = true;
  }

  /** This rank needs a peer from now on. */
  void watch(int peer) {
    if (!watched[peer] && !givenUp[peer]) {
      watched[peer] = true;
      heardNanos[peer] = now;
      saidNanos[peer] = now;
    }
  }

  /** Beats, and gives up who is silent; looks at the peers often enough, not at each call. */
  void poll(Losses losses) {
    if (now - lookedNanos < limitNanos / 32) {
      return;
    }
    lookedNanos = now;
    for (int peer = 0; peer < watched.length; peer++) {
      if (!watched[peer]) {
        continue;
      }
      long silenceNanos = now - heardNanos[peer];
      long mostNanos = peer < transport.rank() ? limitNanos + limitNanos / 8 : limitNanos;
      if (silenceNanos > mostNanos && !givenUp[peer]) {
        givenUp[peer] = true;
        losses.lost(
            peer,
            new SocketTimeoutException(
                "no sign of life for "
                    + silenceNanos / 1_000_000
                    + " ms, the limit is "
                    + limitNanos / 1_000_000));
      } else if (now - saidNanos[peer] >= limitNanos / 16) {
        header.kind = FrameHeader.Kind.HEARTBEAT;
        if (transport.link(peer).trySend(header, FrameBody.EMPTY)) {
          saidNanos[peer] = now;
        }
      }
    }
  }
}
