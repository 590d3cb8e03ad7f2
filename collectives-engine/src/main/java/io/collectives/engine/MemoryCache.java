package io.collectives.engine;

import io.collectives.Payload;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/**
 * The memories of payloads that users keep and use again, so that their calls allocate nothing.
 *
 * <p>Payloads are compared by identity. A payload has a few slots to choose from; those who find
 * them taken push others out, which costs an allocation and nothing else. So does a run of the
 * garbage collector, since payloads and memories are held weakly: a memory refers to the user's
 * arrays, so whatever held it would keep them, for as long as nobody looks here.
 */
final class MemoryCache {
  private static final int SLOTS = 256;
  private static final int WAYS = 4;

  @SuppressWarnings({"unchecked", "rawtypes"}) // Java makes no arrays of generic types.
  private final @Nullable WeakReference<Known>[] slots = new WeakReference[SLOTS];

  private record Known(Payload payload, Memory memory) {}

  synchronized Memory memory(Payload payload) {
    int first = System.identityHashCode(payload) & SLOTS - 1;
    int free = first;
    boolean isFree = false;
    for (int way = 0; way < WAYS; way++) {
      int slot = first + way & SLOTS - 1;
      WeakReference<Known> held = slots[slot];
      Known known = held == null ? null : held.get();
      if (known == null) {
        free = isFree ? free : slot;
        isFree = true;
      } else if (known.payload == payload) {
        return known.memory;
      }
    }
    Known made = new Known(payload, Memories.of(payload));
    slots[free] = new WeakReference<>(made);
    return made.memory;
  }
}
