package io.collectives.engine;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.plan.Chunks;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Refuses the arguments of calls that do not fit each other. Allocates only to refuse. */
final class Shapes {
  private Shapes() {}

  static void root(int root, int size) {
    if (root < 0 || root >= size) {
      throw new IllegalArgumentException(
          "root " + root + ": the ranks of this group are 0 to " + (size - 1));
    }
  }

  /** The payload of the root, which must have one. */
  static Payload atRoot(@Nullable Payload payload, String what, int root) {
    if (payload == null) {
      throw new IllegalArgumentException(
          "no "
              + what
              + " at rank "
              + root
              + ", which is the root: only other ranks may pass none");
    }
    return payload;
  }

  /** Checks a payload for a collective that takes one type only, which nearly all do. */
  static void oneType(Payload payload) {
    if (payload instanceof Payload.OfTensors several) {
      throw new IllegalArgumentException(
          "a payload of "
              + several.types()
              + " elements: only all-reduce, broadcast, reduce, send and receive take several types"
              + " at once; pass each of byType() in a call of its own");
    }
  }

  /** The payloads of each type that go with those of another payload. */
  static List<Payload> sameTypes(Payload.OfTensors input, Payload output) {
    if (output instanceof Payload.OfTensors several && haveSameTypes(several, input)) {
      return several.byType();
    }
    throw new IllegalArgumentException(
        "elements of "
            + input.types()
            + " go in and "
            + (output instanceof Payload.OfTensors several ? several.types() : output.type())
            + " come out: both must be the same, in the same order");
  }

  private static boolean haveSameTypes(Payload.OfTensors a, Payload.OfTensors b) {
    int types = a.byType().size();
    boolean same = types == b.byType().size();
    for (int i = 0; i < types && same; i++) {
      same = a.byType().get(i).type() == b.byType().get(i).type();
    }
    return same;
  }

  /** The float32 elements of a payload. */
  static Payload floats(Payload.OfTensors several) {
    for (int i = 0; i < several.byType().size(); i++) {
      if (several.byType().get(i).type() == ElementType.FLOAT32) {
        return several.byType().get(i);
      }
    }
    throw new IllegalArgumentException(
        "a residual for elements of "
            + several.types()
            + ": only "
            + ElementType.FLOAT32
            + " is rounded on its way");
  }

  static void sameType(Payload input, Payload output) {
    oneType(input);
    oneType(output);
    if (input.type() != output.type()) {
      throw new IllegalArgumentException(
          "elements of "
              + input.type()
              + " go in and "
              + output.type()
              + " come out: both must be the same");
    }
  }

  static void sameTypeAndCount(Payload input, Payload output) {
    oneType(input);
    oneType(output);
    if (input.type() != output.type() || input.count() != output.count()) {
      throw new IllegalArgumentException(
          "the input has "
              + input.count()
              + " elements of "
              + input.type()
              + " and the output "
              + output.count()
              + " of "
              + output.type()
              + ": both must be the same");
    }
  }

  /** Checks the payload that keeps the amounts which rounding takes from an input. */
  static void residual(Payload input, Payload residual, ReduceOp op, Repeatability repeatability) {
    oneType(residual);
    if (repeatability.needsAllAtOnce()) {
      throw new IllegalArgumentException(
          "a residual with the repeatability "
              + repeatability
              + ": what is added from a residual depends on the calls before; use using(FASTEST),"
              + " or no residual");
    }
    if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
      throw new IllegalArgumentException(
          "a residual with the op "
              + op
              + ": what is lost can only be made up for in a sum or an"
              + " average");
    }
    if (residual.type() != ElementType.FLOAT32
        || input.type() != ElementType.FLOAT32
        || residual.count() != input.count()) {
      throw new IllegalArgumentException(
          "the input has "
              + input.count()
              + " elements of "
              + input.type()
              + " and the residual "
              + residual.count()
              + " of "
              + residual.type()
              + ": both must have the same number of "
              + ElementType.FLOAT32);
    }
  }

  /** A part and a whole that is dealt evenly to within one element, or by counts. */
  static void dealt(
      Payload part,
      String partName,
      Payload whole,
      String wholeName,
      long @Nullable [] counts,
      int size,
      int rank) {
    sameType(part, whole);
    if (counts == null) {
      part(part.count(), Chunks.count(whole.count(), rank, size), rank, partName);
    } else {
      count(whole.count(), sum(counts, size, "counts"), wholeName);
      part(part.count(), counts[rank], rank, partName);
    }
  }

  /** A part and a whole that is dealt in equal parts, or by counts. */
  static void shared(Payload part, Payload whole, long @Nullable [] counts, int size, int rank) {
    sameType(part, whole);
    if (counts == null) {
      count(whole.count(), size * part.count(), "whole");
    } else {
      count(whole.count(), sum(counts, size, "counts"), "whole");
      part(part.count(), counts[rank], rank, "part");
    }
  }

  /**
   * Returns the position at which a rank's part of a whole begins, which is distributed evenly to
   * within one element or by counts that have been checked.
   */
  static long start(long total, long @Nullable [] counts, int rank, int size) {
    if (counts == null) {
      return Chunks.start(total, rank, size);
    }
    long start = 0;
    for (int i = 0; i < rank; i++) {
      start += counts[i];
    }
    return start;
  }

  static void part(long given, long needed, int rank, String what) {
    if (given != needed) {
      throw new IllegalArgumentException(
          "the "
              + what
              + " has "
              + given
              + " elements: at rank "
              + rank
              + " it must have "
              + needed);
    }
  }

  static void count(long given, long needed, String what) {
    if (given != needed) {
      throw new IllegalArgumentException(
          "the " + what + " has " + given + " elements: it must have " + needed);
    }
  }

  /** The sum of counts, of which there must be one for each rank. */
  static long sum(long[] counts, int size, String what) {
    if (counts.length != size) {
      throw new IllegalArgumentException(
          counts.length + " " + what + ": there must be one for each of the " + size + " ranks");
    }
    long sum = 0;
    for (long count : counts) {
      if (count < 0) {
        throw new IllegalArgumentException(
            what + " " + Arrays.toString(counts) + ": none may be less than 0");
      }
      if (count > Long.MAX_VALUE - sum) {
        throw new IllegalArgumentException(
            what + " " + Arrays.toString(counts) + ": they add up to more than 2^63 - 1");
      }
      sum += count;
    }
    return sum;
  }
}
