package io.collectives.engine.run;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Transport;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;

/**
 * The control messages that ranks send each other beside their payloads. A message that a link has
 * no room for waits; the messages to one rank stay in order.
 */
final class ControlMessages {
  /** The number of messages that may wait for a rank that takes none. */
  static final int MOST_WAITING = 4096;

  private final Transport transport;
  private final Liveness liveness;
  private final FrameHeader header = new FrameHeader();
  private final Deque<Message> messages = new ArrayDeque<>();

  /** By rank of the job: how many messages to it wait. */
  private final int[] waiting;

  private final BitSet full = new BitSet();

  ControlMessages(Transport transport, Liveness liveness) {
    this.transport = transport;
    this.liveness = liveness;
    this.waiting = new int[transport.size()];
  }

  /**
   * Sends a message about a group, now or later; or never, to a rank that asks and asks and does
   * not take what it is told.
   */
  void send(int worldRank, FrameHeader.Kind kind, long group, FrameBody body) {
    if (waiting[worldRank] < MOST_WAITING) {
      waiting[worldRank]++;
      messages.add(new Message(worldRank, kind, group, body));
      poll();
    }
  }

  /** Sends what can be sent. Returns how much that was. */
  int poll() {
    int sent = 0;
    full.clear();
    for (int left = messages.size(); left > 0; left--) {
      Message message = messages.remove();
      if (!full.get(message.worldRank) && trySend(message)) {
        sent++;
        waiting[message.worldRank]--;
      } else {
        full.set(message.worldRank);
        messages.add(message);
      }
    }
    return sent;
  }

  private boolean trySend(Message message) {
    header.clear();
    header.kind = message.kind;
    header.group = message.group;
    header.length = message.body.length();
    boolean sent = transport.link(message.worldRank).trySend(header, message.body);
    if (sent) {
      liveness.said(message.worldRank);
    }
    return sent;
  }

  boolean isEmpty() {
    return messages.isEmpty();
  }

  private record Message(int worldRank, FrameHeader.Kind kind, long group, FrameBody body) {}
}
