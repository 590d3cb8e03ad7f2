package io.collectives.engine.memory;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Room for what is on its way: a few blocks for each element type and what narrow numbers are
 * converted by, small enough to stay in the L1 cache; made when first used. Belongs to one thread
 * at a time; one for each rank is enough.
 */
public final class Scratch {
  private @Nullable Object[] made = new Object[Key.NEXT.get()];

  /** Scratch without blocks. */
  public Scratch() {}

  /**
   * The key of an object that is made once for each scratch.
   *
   * @param <T> what that is
   */
  static final class Key<T> {
    private static final AtomicInteger NEXT = new AtomicInteger();

    private final int index = NEXT.getAndIncrement();
    private final Supplier<T> maker;

    Key(Supplier<T> maker) {
      this.maker = maker;
    }
  }

  @SuppressWarnings("unchecked")
  <T> T get(Key<T> key) {
    if (key.index >= made.length) {
      made = Arrays.copyOf(made, Key.NEXT.get());
    }
    Object found = made[key.index];
    if (found == null) {
      made[key.index] = found = key.maker.get();
    }
    return (T) found;
  }
}
