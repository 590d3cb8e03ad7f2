package io.collectives.spi;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What the ranks of a call must agree on, in six 64-bit words that travel with each of its frames.
 *
 * <pre>
 *   word 0   collective (8 bits), op (8), element type (8), wire type (8), slabs (32)
 *   word 1   count
 *   words 2-4   name of the algorithm, 24 ASCII characters, padded with zeros
 *   word 5   root (32), hash of the counts of all ranks (32), 0 if the payload is dealt evenly
 * </pre>
 *
 * <p>In an all-to-all with counts no two ranks know the same of it. There the count is that of what
 * the sender has for the receiver, the slabs are the elements of a frame, and the hash is {@link
 * #PAIRWISE}.
 */
public final class CallFingerprint {

  /** The number of words. */
  public static final int WORDS = 6;

  /** Stands for counts that two ranks agree on and no other knows. */
  public static final int PAIRWISE = 1;

  private static final int NAME_WORD = 2;
  private static final int NAME_LENGTH = 24;
  private static final int COUNT_WORD = 1;
  private static final int DEAL_WORD = 5;

  private CallFingerprint() {}

  /**
   * Writes a fingerprint.
   *
   * @param target {@link #WORDS} words
   * @param root 0 if the collective has none
   * @param dealt {@link #hash} of the counts of all ranks, 0 if the payload is dealt evenly
   */
  public static void write(
      long[] target,
      Collective collective,
      ReduceOp op,
      ElementType type,
      WireType wire,
      int slabs,
      long count,
      Algorithm algorithm,
      int root,
      int dealt) {
    target[0] =
        (long) collective.ordinal() << 56
            | (long) op.ordinal() << 48
            | (long) type.ordinal() << 40
            | (long) wire.ordinal() << 32
            | slabs & 0xffffffffL;
    target[COUNT_WORD] = count;
    target[DEAL_WORD] = (long) root << 32 | dealt & 0xffffffffL;
    Arrays.fill(target, NAME_WORD, DEAL_WORD, 0);
    String name = algorithm.name();
    for (int i = 0; i < Math.min(name.length(), NAME_LENGTH); i++) {
      target[NAME_WORD + i / 8] |= (name.charAt(i) & 0x7fL) << (56 - 8 * (i % 8));
    }
  }

  /** Puts another count into a fingerprint. */
  public static void count(long[] target, long count) {
    target[COUNT_WORD] = count;
  }

  /**
   * What stands for the counts of all ranks: neither 0 nor {@link #PAIRWISE}, and very likely
   * another number for other counts.
   */
  public static int hash(long[] counts) {
    long hash = counts.length;
    for (long count : counts) {
      // Steele, Lea and Flood's SplitMix64.
      hash += count + 0x9e3779b97f4a7c15L;
      hash = (hash ^ hash >>> 30) * 0xbf58476d1ce4e5b9L;
      hash = (hash ^ hash >>> 27) * 0x94d049bb133111ebL;
      hash ^= hash >>> 31;
    }
    int folded = (int) (hash ^ hash >>> 32);
    return folded == 0 || folded == PAIRWISE ? folded + 2 : folded;
  }

  /** Whether two calls are the same. */
  public static boolean same(long[] a, long[] b) {
    return a[0] == b[0]
        && a[1] == b[1]
        && a[2] == b[2]
        && a[3] == b[3]
        && a[4] == b[4]
        && a[5] == b[5];
  }

  /**
   * The first thing, in the order of importance, in which two different fingerprints differ.
   *
   * @return its name and both values
   */
  public static Difference difference(long[] mine, long[] theirs) {
    if (mine[0] >>> 56 != theirs[0] >>> 56) {
      return new Difference("collective", collective(mine), collective(theirs));
    }
    if ((mine[0] >>> 40 & 0xff) != (theirs[0] >>> 40 & 0xff)) {
      return new Difference("element type", type(mine), type(theirs));
    }
    if (mine[DEAL_WORD] >>> 32 != theirs[DEAL_WORD] >>> 32) {
      return new Difference("root", root(mine), root(theirs));
    }
    if (mine[1] != theirs[1] && isPairwise(mine) && isPairwise(theirs)) {
      return new Difference(
          "count from sender to receiver", Long.toString(mine[1]), Long.toString(theirs[1]));
    }
    if (mine[1] != theirs[1]) {
      return new Difference("count", Long.toString(mine[1]), Long.toString(theirs[1]));
    }
    if ((int) mine[DEAL_WORD] != (int) theirs[DEAL_WORD]) {
      return new Difference("counts per rank", dealt(mine), dealt(theirs));
    }
    if ((mine[0] >>> 48 & 0xff) != (theirs[0] >>> 48 & 0xff)) {
      return new Difference("op", op(mine), op(theirs));
    }
    if ((mine[0] >>> 32 & 0xff) != (theirs[0] >>> 32 & 0xff)) {
      return new Difference("wire type", wire(mine), wire(theirs));
    }
    if (!algorithm(mine).equals(algorithm(theirs))) {
      return new Difference("algorithm", algorithm(mine), algorithm(theirs));
    }
    return new Difference(
        "number of slabs", Integer.toString((int) mine[0]), Integer.toString((int) theirs[0]));
  }

  /** For people, as {@code all-reduce of 1024 float32, sum, ring}. */
  public static String describe(long[] call) {
    return collective(call)
        + " of "
        + call[1]
        + " "
        + type(call)
        + ", "
        + op(call)
        + ", "
        + algorithm(call)
        + ((call[0] >>> 32 & 0xff) == 0 ? "" : ", as " + wire(call))
        + (call[DEAL_WORD] >>> 32 == 0 ? "" : ", root " + root(call))
        + ((int) call[DEAL_WORD] == 0 ? "" : ", counts per rank " + dealt(call));
  }

  private static boolean isPairwise(long[] call) {
    return (int) call[DEAL_WORD] == PAIRWISE;
  }

  private static String root(long[] call) {
    return Long.toString(call[DEAL_WORD] >>> 32);
  }

  private static String dealt(long[] call) {
    int hash = (int) call[DEAL_WORD];
    return switch (hash) {
      case 0 -> "even";
      case PAIRWISE -> "given for each pair of ranks";
      default -> "given (hash " + Integer.toHexString(hash) + ")";
    };
  }

  private static String collective(long[] call) {
    return name(Collective.values(), (int) (call[0] >>> 56));
  }

  private static String op(long[] call) {
    return name(ReduceOp.values(), (int) (call[0] >>> 48 & 0xff));
  }

  private static String type(long[] call) {
    return name(ElementType.values(), (int) (call[0] >>> 40 & 0xff));
  }

  private static String wire(long[] call) {
    return name(WireType.values(), (int) (call[0] >>> 32 & 0xff));
  }

  private static String algorithm(long[] call) {
    byte[] name = new byte[NAME_LENGTH];
    int length = 0;
    for (int i = 0; i < NAME_LENGTH; i++) {
      byte c = (byte) (call[NAME_WORD + i / 8] >>> (56 - 8 * (i % 8)));
      if (c != 0) {
        name[length++] = c >= ' ' && c < 127 ? c : (byte) '?';
      }
    }
    return new String(name, 0, length, StandardCharsets.US_ASCII);
  }

  private static String name(Object[] values, int code) {
    return code < values.length ? values[code].toString() : "code " + code;
  }

  /**
   * One thing in which two calls differ.
   *
   * @param what its name
   * @param mine its value in the first
   * @param theirs its value in the second
   */
  public record Difference(String what, String mine, String theirs) {}
}
