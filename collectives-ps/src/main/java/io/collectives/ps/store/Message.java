package io.collectives.ps.store;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * What workers and servers say to each other beside gradients and weights. A worker's
 * <em>request</em> is {@link #REQUEST} numbers, the first of which says what it wants; gradients
 * follow a {@link #PUSH}, the first weights an {@link #INITIAL}. A server answers {@link #HELLO}
 * and {@link #SNAPSHOT} by {@link #ANSWER} numbers, {@link #PULL} by weights.
 */
final class Message {
  /** Numbers of a request. */
  static final int REQUEST = 5;

  /** Numbers of an answer. */
  static final int ANSWER = 64;

  /**
   * I train {count, digest, tensors} with {bound}. Answered by {my clock, 1 to be told weights}.
   */
  static final int HELLO = 1;

  /** Here come the weights to begin with. */
  static final int INITIAL = 2;

  /** Here come gradients; my clock is {clock} with them. */
  static final int PUSH = 4;

  /** Give me weights; my clock is {clock}. Goes with a push, or alone. */
  static final int PULL = 8;

  /**
   * Write a snapshot when all have come to {clock}; that of {complete} is whole. Answered by an
   * error or none.
   */
  static final int SNAPSHOT = 16;

  /** I push no more; the others go on without me. */
  static final int FINISH = 32;

  private Message() {}

  /** Writes an answer that says what went wrong, or that nothing did. */
  static void putError(long[] answer, @Nullable String error) {
    byte[] text = error == null ? new byte[0] : error.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(text.length, (ANSWER - 1) * Long.BYTES);
    ByteBuffer bytes = ByteBuffer.allocate(ANSWER * Long.BYTES);
    bytes.putLong(length).put(text, 0, length).rewind();
    bytes.asLongBuffer().get(answer);
  }

  /** What such an answer says; nothing if nothing went wrong. */
  static @Nullable String error(long[] answer) {
    if (answer[0] == 0) {
      return null;
    }
    ByteBuffer bytes = ByteBuffer.allocate(ANSWER * Long.BYTES);
    bytes.asLongBuffer().put(answer);
    return new String(bytes.array(), Long.BYTES, (int) answer[0], StandardCharsets.UTF_8);
  }
}
