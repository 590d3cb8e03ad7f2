package io.collectives.testkit;

import io.collectives.testkit.TestPayload.Memory;

/**
 * The kinds of memory in which the payloads of a call lie.
 *
 * @param first the kind of memory at rank 0
 * @param mixed whether each other rank has another kind
 */
record Placement(Memory first, boolean mixed) {
  Memory of(int rank) {
    Memory[] kinds = Memory.values();
    return mixed ? kinds[(first.ordinal() + rank) % kinds.length] : first;
  }
}
