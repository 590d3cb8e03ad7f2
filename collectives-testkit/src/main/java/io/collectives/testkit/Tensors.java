package io.collectives.testkit;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.testkit.TestPayload.Memory;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Tensors of several types in several kinds of memory, which are one payload. They are filled with
 * small integers, whose sums are exact in every type and on every wire. Used by one thread at a
 * time.
 */
final class Tensors {

  /** The number of types, each of which takes a call of its own. */
  static final int TYPES = 4;

  private static final int COUNT = 211;
  private static final Memory[] KINDS = {
    Memory.STRIDED, Memory.DIRECT, Memory.ARRAY, Memory.PARTS, Memory.VIEW
  };

  private final List<ElementType> types =
      List.of(
          ElementType.FLOAT32,
          ElementType.BFLOAT16,
          ElementType.INT64,
          ElementType.FLOAT32,
          ElementType.FLOAT64);

  private final List<TestPayload> tensors = new ArrayList<>();
  private final Payload payload;

  /**
   * Makes tensors with the same elements for any {@code cut}.
   *
   * @param cut decides where float32 elements are cut into tensors, and what memory they lie in
   */
  Tensors(int cut) {
    for (int i = 0; i < types.size(); i++) {
      int count = i == 0 ? COUNT + cut : i == 3 ? COUNT - cut : COUNT / (i + 1);
      tensors.add(new TestPayload(types.get(i), KINDS[(i + cut) % KINDS.length], count));
    }
    payload = Payload.of(tensors.stream().map(TestPayload::payload).toList());
  }

  Payload payload() {
    return payload;
  }

  /** Writes what a rank contributes. */
  void fill(int rank) {
    Map<ElementType, Integer> starts = new EnumMap<>(ElementType.class);
    for (int i = 0; i < tensors.size(); i++) {
      ElementType type = types.get(i);
      long[] bits = new long[tensors.get(i).bits().length];
      int start = starts.merge(type, bits.length, Integer::sum) - bits.length;
      for (int k = 0; k < bits.length; k++) {
        bits[k] = type.bits(value(rank, type, start + k));
      }
      tensors.get(i).fill(bits);
    }
  }

  /** Fails if an element is not the sum of what some ranks contributed. */
  void assertSum(int... ranks) {
    Map<ElementType, Integer> starts = new EnumMap<>(ElementType.class);
    for (int i = 0; i < tensors.size(); i++) {
      ElementType type = types.get(i);
      long[] found = tensors.get(i).bits();
      int start = starts.merge(type, found.length, Integer::sum) - found.length;
      for (int k = 0; k < found.length; k++) {
        int at = start + k;
        int sum = IntStream.of(ranks).map(rank -> value(rank, type, at)).sum();
        double value = type.value(found[k]);
        if (value != sum) {
          throw new AssertionError(
              "element " + k + " of tensor " + i + ", " + type + ": " + value + ", not " + sum);
        }
      }
      tensors.get(i).assertGuards();
    }
  }

  private static int value(int rank, ElementType type, int index) {
    return (rank * 31 + index * 7 + type.ordinal() * 5) % 15 - 7;
  }
}
