package io.collectives.spi;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What the ranks of a call must agree on, in six 64-bit words that travel with each of its frames.
 *
 * <pre>
 *   word 0   collective (8 bits), op (8), element type (8), wire type (8), slabs (32)
 *   word 1   count
 *   words 2-5   name of the algorithm, 32 ASCII characters, padded with zeros
 * </pre>
 */
public final class CallFingerprint {

  /** The number of words. */
  public static final int WORDS = 6;

  private static final int NAME_WORD = 2;
  private static final int NAME_LENGTH = 8 * (WORDS - NAME_WORD);

  private CallFingerprint() {}

  /**
   * Writes a fingerprint.
   *
   * @param target {@link #WORDS} words
   */
  public static void write(
      long[] target,
      Collective collective,
      ReduceOp op,
      ElementType type,
      ElementType wire,
      int slabs,
      long count,
      Algorithm algorithm) {
    target[0] =
        (long) collective.ordinal() << 56
            | (long) op.ordinal() << 48
            | (long) type.ordinal() << 40
            | (long) wire.ordinal() << 32
            | slabs & 0xffffffffL;
    target[1] = count;
    Arrays.fill(target, NAME_WORD, WORDS, 0);
    String name = algorithm.name();
    for (int i = 0; i < Math.min(name.length(), NAME_LENGTH); i++) {
      target[NAME_WORD + i / 8] |= (name.charAt(i) & 0x7fL) << (56 - 8 * (i % 8));
    }
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
      return new Difference("element type", type(mine, 40), type(theirs, 40));
    }
    if (mine[1] != theirs[1]) {
      return new Difference("count", Long.toString(mine[1]), Long.toString(theirs[1]));
    }
    if ((mine[0] >>> 48 & 0xff) != (theirs[0] >>> 48 & 0xff)) {
      return new Difference("op", op(mine), op(theirs));
    }
    if (!algorithm(mine).equals(algorithm(theirs))) {
      return new Difference("algorithm", algorithm(mine), algorithm(theirs));
    }
    if ((mine[0] >>> 32 & 0xff) != (theirs[0] >>> 32 & 0xff)) {
      return new Difference("wire type", type(mine, 32), type(theirs, 32));
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
        + type(call, 40)
        + ", "
        + op(call)
        + ", "
        + algorithm(call);
  }

  private static String collective(long[] call) {
    return name(Collective.values(), (int) (call[0] >>> 56));
  }

  private static String op(long[] call) {
    return name(ReduceOp.values(), (int) (call[0] >>> 48 & 0xff));
  }

  private static String type(long[] call, int shift) {
    return name(ElementType.values(), (int) (call[0] >>> shift & 0xff));
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
