package io.collectives.engine;

import io.collectives.Payload;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/**
 * The memories of payloads that users keep and use again, so that their calls allocate nothing.
 *
 * <p>Keys are compared by identity and held weakly; a memory does not refer to its payload, so it
 * goes when the payload does. A payload has a few slots to choose from; those who find them taken
 * push others out, which costs an allocation and nothing else.
 */
final class MemoryCache {
  private static final int SLOTS = 256;
  private static final int WAYS = 4;

  private final @Nullable Entry[] slots = new Entry[SLOTS];
  private final ReferenceQueue<Payload> collected = new ReferenceQueue<>();

  synchronized Memory memory(Payload payload) {
    int first = System.identityHashCode(payload) & SLOTS - 1;
    for (int way = 0; way < WAYS; way++) {
      Entry entry = slots[first + way & SLOTS - 1];
      if (entry != null && entry.refersTo(payload)) {
        return entry.memory;
      }
    }
    for (Object old = collected.poll(); old != null; old = collected.poll()) {
      int index = ((Entry) old).slot;
      if (slots[index] == old) {
        slots[index] = null;
      }
    }
    int slot = first;
    for (int way = 0; way < WAYS && slots[slot] != null; way++) {
      slot = first + way & SLOTS - 1;
    }
    Entry entry = new Entry(payload, slot, collected);
    slots[slot] = entry;
    return entry.memory;
  }

  private static final class Entry extends WeakReference<Payload> {
    final int slot;
    final Memory memory;

    Entry(Payload payload, int slot, ReferenceQueue<Payload> queue) {
      super(payload, queue);
      this.slot = slot;
      this.memory = Memories.of(payload);
    }
  }
}
