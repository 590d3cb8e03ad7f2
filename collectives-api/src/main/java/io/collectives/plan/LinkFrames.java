package io.collectives.plan;

import java.util.Arrays;

/**
 * The links (from, to) that a plan uses, each with the number of frames that the latest round put
 * on it. It is a hash table with open addressing, so that a plan of all n(n-1) links costs at most
 * 64 bytes for each.
 */
final class LinkFrames {
  private static final long FREE = -1;

  private final int ranks;
  private long[] keys = newKeys(64);

  /** The number of the latest round in the high 32 bits, its frames in the low 32 bits. */
  private long[] frames = new long[64];

  private int size;

  LinkFrames(int ranks) {
    this.ranks = ranks;
  }

  /** Returns the number of different links. */
  int size() {
    return size;
  }

  boolean contains(int from, int to) {
    return keys[slot(keys, key(from, to))] != FREE;
  }

  /**
   * Counts a frame.
   *
   * @param round the number of the round, from 1, which no other round has
   * @return the number of frames that the round has put on the link so far
   */
  int add(int from, int to, int round) {
    long key = key(from, to);
    int slot = slot(keys, key);
    if (keys[slot] == FREE) {
      if (2 * size >= keys.length) {
        grow();
        slot = slot(keys, key);
      }
      keys[slot] = key;
      size++;
    }
    long before = frames[slot];
    long now = before >>> 32 == round ? before + 1 : ((long) round << 32) + 1;
    frames[slot] = now;
    return (int) now;
  }

  private long key(int from, int to) {
    return (long) from * ranks + to;
  }

  private void grow() {
    long[] largerKeys = newKeys(Math.multiplyExact(keys.length, 2));
    long[] largerFrames = new long[largerKeys.length];
    for (int i = 0; i < keys.length; i++) {
      if (keys[i] != FREE) {
        int slot = slot(largerKeys, keys[i]);
        largerKeys[slot] = keys[i];
        largerFrames[slot] = frames[i];
      }
    }
    keys = largerKeys;
    frames = largerFrames;
  }

  private static int slot(long[] keys, long key) {
    long mixed = key * 0x9e3779b97f4a7c15L;
    int slot = (int) (mixed >>> 32) & (keys.length - 1);
    while (keys[slot] != FREE && keys[slot] != key) {
      slot = (slot + 1) & (keys.length - 1);
    }
    return slot;
  }

  private static long[] newKeys(int length) {
    long[] keys = new long[length];
    Arrays.fill(keys, FREE);
    return keys;
  }
}
