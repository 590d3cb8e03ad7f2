package io.collectives.pytorch;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The error of a hook. libtorch turns what a hook throws into a bare RuntimeException, so hooks
 * leave their errors here, by the thread on which both they and the backward pass run.
 */
final class HookFailure {
  private static final ThreadLocal<@Nullable RuntimeException> FIRST = new ThreadLocal<>();

  private HookFailure() {}

  /** Runs what a hook does, and keeps its error. */
  static <T> T keeping(Supplier<T> hook) {
    try {
      return hook.get();
    } catch (RuntimeException e) {
      if (FIRST.get() == null) {
        FIRST.set(e);
      }
      throw e;
    }
  }

  /** Runs a backward pass; the error of a hook leaves it as it was thrown. */
  static void rethrowing(Runnable backward) {
    FIRST.remove();
    try {
      backward.run();
    } catch (RuntimeException e) {
      RuntimeException first = FIRST.get();
      throw first == null ? e : first;
    } finally {
      FIRST.remove();
    }
  }
}
