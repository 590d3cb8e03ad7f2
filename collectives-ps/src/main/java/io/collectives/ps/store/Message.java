package io.collectives.ps.store;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The messages between workers and servers beside gradients and weights. A worker's
 * <em>request</em> consists of {@link #REQUEST} numbers, the first of which is its kind; gradients
 * follow a {@link #PUSH}, the first weights an {@link #INITIAL}. A server answers {@link #HELLO}
 * and {@link #CHECKPOINT} by {@link #ANSWER} numbers, {@link #PULL} by weights.
 */
final class Message {
  /** Numbers of a request. */
  static final int REQUEST = 5;

  /** The number of numbers in an answer. */
  static final int ANSWER = 64;

  /**
   * A worker trains a model of {count, digest, tensors} with {bound}. The answer is {the worker's
   * clock, 1 if the server needs weights}.
   */
  static final int HELLO = 1;

  /** The first weights follow. */
  static final int INITIAL = 2;

  /** Gradients follow, with which the worker's clock is {clock}. */
  static final int PUSH = 4;

  /** The worker with {clock} asks for weights, together with a push, or alone. */
  static final int PULL = 8;

  /**
   * The server is to write a checkpoint when all workers have reached {clock}; the checkpoint of
   * {complete} is complete. The answer is an error or none.
   */
  static final int CHECKPOINT = 16;

  /** The worker pushes no more; the others go on without it. */
  static final int FINISH = 32;

  private Message() {}

  /** Writes an answer with an error, or with none. */
  static void putError(long[] answer, @Nullable String error) {
    byte[] text = error == null ? new byte[0] : error.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(text.length, (ANSWER - 1) * Long.BYTES);
    ByteBuffer bytes = ByteBuffer.allocate(ANSWER * Long.BYTES);
    bytes.putLong(length).put(text, 0, length).rewind();
    bytes.asLongBuffer().get(answer);
  }

  /** Returns the error in such an answer; null if there is none. */
  static @Nullable String error(long[] answer) {
    if (answer[0] == 0) {
      return null;
    }
    ByteBuffer bytes = ByteBuffer.allocate(ANSWER * Long.BYTES);
    bytes.asLongBuffer().put(answer);
    return new String(bytes.array(), Long.BYTES, (int) answer[0], StandardCharsets.UTF_8);
  }
}
