package io.collectives.internal;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;
import io.collectives.WireType;
import io.collectives.spi.FrameHeader;
import java.util.Arrays;

/**
 * The description of a call on which its ranks must agree, in six 64-bit words that travel with
 * each of its frames.
 *
 * <pre>
 *   word 0   collective (8 bits), op (8), types to come (4), element type (4), wire type (4),
 *            checked (1), repeatability (3), slabs (32)
 *   word 1   count
 *   words 2-4   32 characters of 6 bits: the name of the algorithm, 24, and of a user's op, 8; 0 is
 *            none
 *   word 5   root, or number of the buffer in an all-reduce, 0 if it has none (32),
 *            hash of the counts of all ranks (32), 0 if the payload is dealt evenly
 * </pre>
 *
 * <p>In an all-to-all with counts no two ranks know the same of it. There the count is that of what
 * the sender has for the receiver, the slabs are the elements of a frame, and the hash is {@link
 * #PAIRWISE}.
 */
public final class CallFingerprint {

  /** The number of words. */
  public static final int WORDS = FrameHeader.CALL_WORDS;

  /** Stands for counts that two ranks agree on and no other knows. */
  public static final int PAIRWISE = 1;

  private static final long CHECKED = 0x8L << 32;
  private static final int NAME_WORD = 2;
  private static final int NAME_LENGTH = 24;
  private static final int CHARACTER_BITS = 6;

  /** The characters of names; the code of one is its index. */
  private static final String CHARACTERS = "\0abcdefghijklmnopqrstuvwxyz0123456789 -_=.:+/?";

  private static final int UNKNOWN = CHARACTERS.indexOf('?');
  private static final int COMMUTATIVE_OP = 0x80;
  private static final int OP_IN_RANK_ORDER = 0x81;
  private static final int COUNT_WORD = 1;
  private static final int TYPES_SHIFT = 44;
  private static final int DEAL_WORD = 5;

  /** The algorithm of what one rank sends to another, in a group of the two. */
  public static final String MESSAGE = "message";

  private CallFingerprint() {}

  /** Begins a fingerprint of {@link #WORDS} words, of which all else is 0. */
  public static void begin(long[] target, Collective collective, ReduceOp op, ElementType type) {
    Arrays.fill(target, 0);
    target[0] =
        (long) collective.ordinal() << 56 | (long) code(op) << 48 | (long) type.ordinal() << 40;
    if (op instanceof UserOp) {
      putName(target, op.toString(), NAME_LENGTH, UserOp.NAME_LENGTH);
    }
  }

  /** Says as what numbers cross the links, and what ranks ask of sums; after the beginning. */
  public static void numbers(long[] target, WireType wire, Repeatability repeatability) {
    target[0] |= (long) wire.ordinal() << 36 | (long) repeatability.ordinal() << 32;
  }

  /** Says that ranks look for numbers that are not finite; after the beginning. */
  public static void checkFinite(long[] target) {
    target[0] |= CHECKED;
  }

  /** Says how many elements there are, in how many slabs; after the beginning. */
  public static void size(long[] target, long count, int slabs) {
    target[COUNT_WORD] = count;
    target[0] |= slabs & 0xffffffffL;
  }

  /**
   * Returns an algorithm's {@linkplain io.collectives.Algorithm#name() name} as calls tell it: a
   * long one is its beginning and a hash of the whole, so that names which differ at the end do not
   * look alike.
   */
  public static String told(String algorithm) {
    if (algorithm.length() <= NAME_LENGTH) {
      return algorithm;
    }
    String hash =
        "+" + Integer.toString(algorithm.hashCode() & Integer.MAX_VALUE, Character.MAX_RADIX);
    return algorithm.substring(0, NAME_LENGTH - hash.length()) + hash;
  }

  /** Returns an algorithm's name, or what is {@linkplain #told} of it, as fingerprints hold it. */
  public static long[] words(String algorithm) {
    long[] words = new long[WORDS];
    putName(words, algorithm, 0, NAME_LENGTH);
    return Arrays.copyOfRange(words, NAME_WORD, DEAL_WORD);
  }

  /**
   * Says what ranks do; after the beginning.
   *
   * @param name the {@link #words} of the algorithm
   * @param root 0 if the collective has none
   * @param dealt {@link #hash} of the counts of all ranks, 0 if the payload is dealt evenly
   */
  public static void plan(long[] target, long[] name, int root, int dealt) {
    for (int i = 0; i < name.length; i++) {
      target[NAME_WORD + i] |= name[i];
    }
    target[DEAL_WORD] = (long) root << 32 | dealt & 0xffffffffL;
  }

  /** The ordinal of the element type, if there is such a type. */
  public static int type(long[] call) {
    return (int) (call[0] >>> 40 & 0xf);
  }

  /** The ordinal of the op, if there is such an op; another number for one of a user. */
  public static int op(long[] call) {
    return (int) (call[0] >>> 48 & 0xff);
  }

  /** The count. */
  public static long count(long[] call) {
    return call[COUNT_WORD];
  }

  /** The ordinal of the repeatability, if there is such a level. */
  public static int repeatability(long[] call) {
    return (int) (call[0] >>> 32 & 0x7);
  }

  /**
   * Returns whether the call reduces by a user's op of this name, which is commutative if this one
   * is.
   */
  public static boolean isBy(long[] call, UserOp op) {
    if (op(call) != code(op)) {
      return false;
    }
    String name = op.toString();
    for (int i = 0; i < UserOp.NAME_LENGTH; i++) {
      int wanted = i < name.length() ? CHARACTERS.indexOf(name.charAt(i)) : 0;
      if (character(call, NAME_LENGTH + i) != wanted) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether numbers are checked for being finite. */
  public static boolean isChecked(long[] call) {
    return (call[0] & CHECKED) != 0;
  }

  /**
   * Says that this is the call for one type of a payload of several.
   *
   * @param types how many more types the payload has, from 0 to 15; their calls follow
   */
  public static void typesToCome(long[] target, int types) {
    target[0] = target[0] & ~(0xfL << TYPES_SHIFT) | (long) types << TYPES_SHIFT;
  }

  /**
   * Says by what number servers know the buffer of this all-reduce.
   *
   * @param number 0 if it has none
   */
  public static void buffer(long[] target, int number) {
    target[DEAL_WORD] = (long) number << 32 | target[DEAL_WORD] & 0xffffffffL;
  }

  /** The number of the buffer of an all-reduce; 0 if it has none. */
  public static int buffer(long[] call) {
    return (int) (call[DEAL_WORD] >>> 32);
  }

  private static boolean isAllReduce(long[] call) {
    return call[0] >>> 56 == Collective.ALL_REDUCE.ordinal();
  }

  private static int code(ReduceOp op) {
    if (op instanceof UserOp own) {
      return own.isCommutative() ? COMMUTATIVE_OP : OP_IN_RANK_ORDER;
    }
    return ((ReduceOp.Standard) op).ordinal();
  }

  /** Writes a name from character {@code at} on, cut to a length. */
  private static void putName(long[] target, String name, int at, int length) {
    for (int i = 0; i < Math.min(name.length(), length); i++) {
      int code = CHARACTERS.indexOf(name.charAt(i));
      long character = code < 0 ? UNKNOWN : code;
      int bit = (at + i) * CHARACTER_BITS;
      int shift = bit % Long.SIZE;
      target[NAME_WORD + bit / Long.SIZE] |= character << shift;
      if (shift > Long.SIZE - CHARACTER_BITS) {
        target[NAME_WORD + bit / Long.SIZE + 1] |= character >>> Long.SIZE - shift;
      }
    }
  }

  private static String name(long[] call, int at, int length) {
    StringBuilder name = new StringBuilder();
    for (int i = 0; i < length; i++) {
      int code = character(call, at + i);
      if (code != 0) {
        name.append(CHARACTERS.charAt(Math.min(code, UNKNOWN)));
      }
    }
    return name.toString();
  }

  /** The code of a character of the names; 0 if there is none. */
  private static int character(long[] call, int at) {
    int bit = at * CHARACTER_BITS;
    int shift = bit % Long.SIZE;
    long code = call[NAME_WORD + bit / Long.SIZE] >>> shift;
    if (shift > Long.SIZE - CHARACTER_BITS) {
      code |= call[NAME_WORD + bit / Long.SIZE + 1] << Long.SIZE - shift;
    }
    return (int) code & (1 << CHARACTER_BITS) - 1;
  }

  /** Puts another count into a fingerprint. */
  public static void count(long[] target, long count) {
    target[COUNT_WORD] = count;
  }

  /**
   * Returns a hash of the counts of all ranks: neither 0 nor {@link #PAIRWISE}, and very likely
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

  /** Returns whether two calls are equal. */
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
    if (type(mine) != type(theirs)) {
      return new Difference("element type", typeName(mine), typeName(theirs));
    }
    if (typesToCome(mine) != typesToCome(theirs)) {
      return new Difference(
          "number of further element types",
          Integer.toString(typesToCome(mine)),
          Integer.toString(typesToCome(theirs)));
    }
    if (mine[DEAL_WORD] >>> 32 != theirs[DEAL_WORD] >>> 32) {
      String what = isAllReduce(mine) ? "number of the buffer" : "root";
      return new Difference(what, root(mine), root(theirs));
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
    if (!opName(mine).equals(opName(theirs))) {
      return new Difference("op", opName(mine), opName(theirs));
    }
    if (wireCode(mine) != wireCode(theirs)) {
      return new Difference("wire type", wire(mine), wire(theirs));
    }
    if (repeatability(mine) != repeatability(theirs)) {
      return new Difference("repeatability", repeatabilityName(mine), repeatabilityName(theirs));
    }
    if (isChecked(mine) != isChecked(theirs)) {
      return new Difference("check for finite numbers", check(mine), check(theirs));
    }
    if (!algorithm(mine).equals(algorithm(theirs))) {
      return new Difference("algorithm", algorithm(mine), algorithm(theirs));
    }
    // All else being equal, the parts that a payload is sent in differ by the length of frames
    // only.
    return isPairwise(mine)
        ? new Difference(
            "frame length (CallSettings.frameLength), in elements,", slabs(mine), slabs(theirs))
        : new Difference(
            "frame length (CallSettings.frameLength), by the number of parts that the payload is sent"
                + " in,",
            slabs(mine),
            slabs(theirs));
  }

  private static String slabs(long[] call) {
    return Integer.toString((int) call[0]);
  }

  private static boolean isMessage(long[] call) {
    return call[0] >>> 56 == Collective.BROADCAST.ordinal() && algorithm(call).equals(MESSAGE);
  }

  private static boolean reduces(long[] call) {
    Collective[] known = Collective.values();
    int code = (int) (call[0] >>> 56);
    return code < known.length && known[code].reduces();
  }

  /** For people, as {@code all-reduce of 1024 float32, sum, ring}. */
  public static String describe(long[] call) {
    if (call[0] >>> 56 == Collective.BARRIER.ordinal()) {
      return collective(call) + ", " + algorithm(call);
    }
    return (isMessage(call) ? "send/receive" : collective(call))
        + " of "
        + call[1]
        + " "
        + typeName(call)
        + (typesToCome(call) == 0 ? "" : " and more of " + typesToCome(call) + " other types")
        + (reduces(call) ? ", " + opName(call) : "")
        + (isMessage(call) ? "" : ", " + algorithm(call))
        + (wireCode(call) == 0 ? "" : ", as " + wire(call))
        + (repeatability(call) == Repeatability.FASTEST.ordinal()
            ? ""
            : ", " + repeatabilityName(call))
        + (isChecked(call) ? ", checked" : "")
        + (call[DEAL_WORD] >>> 32 == 0
            ? ""
            : (isAllReduce(call) ? ", buffer " : ", root ") + root(call))
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
      default -> "given (checksum " + Integer.toHexString(hash) + ")";
    };
  }

  private static String collective(long[] call) {
    return name(Collective.values(), (int) (call[0] >>> 56));
  }

  private static String opName(long[] call) {
    int code = (int) (call[0] >>> 48 & 0xff);
    return switch (code) {
      case COMMUTATIVE_OP -> "\"" + name(call, NAME_LENGTH, UserOp.NAME_LENGTH) + "\"";
      case OP_IN_RANK_ORDER ->
          "\"" + name(call, NAME_LENGTH, UserOp.NAME_LENGTH) + "\" in rank order";
      default -> name(ReduceOp.Standard.values(), code);
    };
  }

  private static String typeName(long[] call) {
    return name(ElementType.values(), type(call));
  }

  /** Returns the number of further types that the payload has. */
  public static int typesToCome(long[] call) {
    return (int) (call[0] >>> TYPES_SHIFT & 0xf);
  }

  private static int wireCode(long[] call) {
    return (int) (call[0] >>> 36 & 0xf);
  }

  private static String wire(long[] call) {
    return name(WireType.values(), wireCode(call));
  }

  private static String repeatabilityName(long[] call) {
    return name(Repeatability.values(), repeatability(call));
  }

  private static String check(long[] call) {
    return isChecked(call) ? "on" : "off";
  }

  private static String algorithm(long[] call) {
    return name(call, 0, NAME_LENGTH);
  }

  private static String name(Object[] values, int code) {
    return code < values.length ? values[code].toString() : "code " + code;
  }

  /**
   * A difference between two calls.
   *
   * @param what its name
   * @param mine its value in the first
   * @param theirs its value in the second
   */
  public record Difference(String what, String mine, String theirs) {}
}
