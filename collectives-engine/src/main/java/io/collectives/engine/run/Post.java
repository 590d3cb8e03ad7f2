package io.collectives.engine.run;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Transport;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;

/**
 * What ranks tell each other beside their payloads. A letter that a link has no room for waits; the
 * letters to one rank stay in order.
 */
final class Post {
  /** How many letters may wait for a rank that takes none. */
  static final int MOST_LETTERS = 4096;

  private final Transport transport;
  private final Liveness liveness;
  private final FrameHeader header = new FrameHeader();
  private final Deque<Letter> letters = new ArrayDeque<>();

  /** By rank of the job: how many letters to it wait. */
  private final int[] waiting;

  private final BitSet full = new BitSet();

  Post(Transport transport, Liveness liveness) {
    this.transport = transport;
    this.liveness = liveness;
    this.waiting = new int[transport.size()];
  }

  /**
   * Sends a letter about a group, now or later; or never, to a rank that asks and asks and does not
   * take what it is told.
   */
  void send(int worldRank, FrameHeader.Kind kind, long group, FrameBody body) {
    if (waiting[worldRank] < MOST_LETTERS) {
      waiting[worldRank]++;
      letters.add(new Letter(worldRank, kind, group, body));
      poll();
    }
  }

  /** Sends what can be sent. Returns how much that was. */
  int poll() {
    int sent = 0;
    full.clear();
    for (int left = letters.size(); left > 0; left--) {
      Letter letter = letters.remove();
      if (!full.get(letter.worldRank) && trySend(letter)) {
        sent++;
        waiting[letter.worldRank]--;
      } else {
        full.set(letter.worldRank);
        letters.add(letter);
      }
    }
    return sent;
  }

  private boolean trySend(Letter letter) {
    header.clear();
    header.kind = letter.kind;
    header.group = letter.group;
    header.length = letter.body.length();
    boolean sent = transport.link(letter.worldRank).trySend(header, letter.body);
    if (sent) {
      liveness.said(letter.worldRank);
    }
    return sent;
  }

  boolean isEmpty() {
    return letters.isEmpty();
  }

  private record Letter(int worldRank, FrameHeader.Kind kind, long group, FrameBody body) {}
}
