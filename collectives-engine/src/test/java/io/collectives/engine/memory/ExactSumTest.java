package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Bfloat16;
import io.collectives.ElementType;
import io.collectives.Float16;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.engine.memory.OrderedReduction.Manner;
import io.collectives.spi.FrameBytes;
import io.collectives.testkit.ExactSums;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Exact sums are those of arithmetic without rounding, whatever is added in which order. */
class ExactSumTest {
  private static final int SEEDS = 40;
  private final Scratch scratch = new Scratch();
  private final OrderedReduction reduction = new OrderedReduction(scratch);

  /** The difficulty of the contributions to an element. */
  private enum Kind {
    /** Contributions as gradients are. */
    ORDINARY,
    /** Exponents of the whole range. */
    WIDE,
    /** Large numbers of both signs, which leave a small one. */
    CANCELLED,
    /** A sum right between two numbers. */
    TIED,
    /** A sum next to one that is right between two numbers. */
    NEARLY_TIED,
    /** Numbers next to zero. */
    SUBNORMAL,
    /** Partial sums beyond the greatest number, and sums. */
    GREAT,
    /** Zeros of both signs. */
    ZERO,
    /** NaN and infinities. */
    SPECIAL
  }

  /** The numbers of a type, as a test needs them. */
  private record Numbers(ElementType type, int precision, int least, int greatest) {
    static Numbers of(ElementType type) {
      double epsilon = type.value(type.bits(1) + 1) - 1;
      double most = type.value(type.bits(Double.POSITIVE_INFINITY) - 1);
      return new Numbers(
          type,
          1 - Math.getExponent(epsilon),
          Math.getExponent(type.value(1) * 0x1p200) - 200,
          Math.getExponent(most));
    }

    double nearest(double value) {
      return type.value(type.bits(value));
    }

    /** Returns what an average is to be. */
    double exact(double[] values, int divisor) {
      return nearest(ExactSums.of(values, divisor, precision, least));
    }

    double greatestNumber() {
      return Math.scalb(2 - Math.scalb(1.0, 1 - precision), greatest);
    }

    double any(Random random) {
      int exponent = least + random.nextInt(greatest - least + 1);
      return nearest(Math.scalb(random.nextBoolean() ? 1 + random.nextDouble() : -1, exponent));
    }

    /** The contributions to one element. */
    double[] contributions(Kind kind, int n, Random random) {
      double[] values = new double[n];
      double last = Math.scalb(1.0, 1 - precision);
      for (int i = 0; i < n; i++) {
        values[i] =
            switch (kind) {
              case ORDINARY -> nearest(random.nextGaussian());
              case WIDE, CANCELLED -> any(random);
              case TIED, NEARLY_TIED -> 0;
              case SUBNORMAL -> (random.nextInt(41) - 20) * Math.scalb(1.0, least);
              case GREAT ->
                  (random.nextInt(5) - 2) * greatestNumber() / 2 + (random.nextInt(3) - 1);
              case ZERO -> random.nextInt(4) == 0 ? 0.0 : -0.0;
              case SPECIAL ->
                  switch (random.nextInt(8)) {
                    case 0 -> Double.NaN;
                    case 1, 2 -> Double.POSITIVE_INFINITY;
                    case 3 -> Double.NEGATIVE_INFINITY;
                    default -> nearest(random.nextGaussian());
                  };
            };
        if (kind == Kind.GREAT) {
          values[i] = nearest(values[i]);
        }
      }
      if (kind == Kind.CANCELLED) {
        for (int i = 0; i + 1 < n - n % 2; i += 2) {
          values[i + 1] = -values[i];
        }
        if (n > 2) {
          values[n - 1] = any(random);
        }
      }
      if (kind == Kind.TIED || kind == Kind.NEARLY_TIED) {
        // Odd or even in the last place, half of that more, and maybe next to nothing.
        double scale = Math.scalb(1.0, random.nextInt(8));
        values[0] = nearest((1 + random.nextInt(4) * last) * scale);
        if (n > 1) {
          values[n - 1] = last / 2 * scale * (random.nextBoolean() ? 1 : -1);
        }
        if (n > 2 && kind == Kind.NEARLY_TIED) {
          double tiny = Math.scalb(1.0, least + random.nextInt(12));
          values[1] = random.nextBoolean() ? tiny : -tiny;
        }
      }
      for (int i = n - 1; i > 0; i--) {
        int other = random.nextInt(i + 1);
        double value = values[i];
        values[i] = values[other];
        values[other] = value;
      }
      return values;
    }

    long bits(double value) {
      return type.bits(value);
    }

    void put(ByteBuffer bytes, int index, double value) {
      switch (type.bytes()) {
        case 2 -> bytes.putShort(2 * index, (short) bits(value));
        case 4 -> bytes.putInt(4 * index, (int) bits(value));
        default -> bytes.putLong(8 * index, bits(value));
      }
    }

    long get(ByteBuffer bytes, int index) {
      return switch (type.bytes()) {
        case 2 -> bytes.getShort(2 * index);
        case 4 -> bytes.getInt(4 * index);
        default -> bytes.getLong(8 * index);
      };
    }
  }

  private static FrameBytes frame(int length) {
    return new FrameBytes(ByteBuffer.allocateDirect(length + 7 & ~7));
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.MATCH_ALL, names = ".*FLOAT.*")
  void isTheSumOrAverageRoundedOnce(ElementType type) {
    Numbers numbers = Numbers.of(type);
    for (long seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      int n = 2 + random.nextInt(9);
      int count = random.nextBoolean() ? random.nextInt(300) : random.nextInt(2500);
      // Blocks of one kind, and mixed ones.
      Kind only = Kind.values()[random.nextInt(Kind.values().length)];
      boolean mixed = random.nextInt(3) == 0;
      double[][] values = new double[count][];
      for (int i = 0; i < count; i++) {
        Kind kind = mixed ? Kind.values()[random.nextInt(Kind.values().length)] : only;
        values[i] = numbers.contributions(kind, n, random);
      }
      int divisor = random.nextBoolean() ? 1 : random.nextInt(8) > 0 ? n : 2 + random.nextInt(5000);
      FrameBytes[] frames = new FrameBytes[n];
      for (int rank = 0; rank < n; rank++) {
        frames[rank] = frame(count * type.bytes());
        for (int i = 0; i < count; i++) {
          numbers.put(frames[rank].bytes(), i, values[i][rank]);
        }
      }
      // The second time the other way round.
      for (int turn = 0; turn < 2; turn++) {
        ArrayMemory own = ArrayMemory.ofZeros(type, count + 3);
        int ownRank = random.nextInt(n);
        own.replace(3, count, frames[ownRank], 0);
        ArrayMemory target = ArrayMemory.ofZeros(type, count + 3);
        for (int k = 0; k < n; k++) {
          int rank = turn == 0 ? k : n - 1 - k;
          if (rank == ownRank) {
            reduction.add(own, 3, target, 1);
          } else {
            reduction.add(frames[rank], 0);
          }
        }
        reduction.run(ReduceOp.SUM, Manner.EXACT, own, 3, count, divisor, null);
        FrameBytes result = frame(count * type.bytes());
        own.store(3, count, result, 0);
        FrameBytes copy = frame(count * type.bytes());
        target.store(1, count, copy, 0);
        for (int i = 0; i < count; i++) {
          double exact = numbers.exact(values[i], divisor);
          String where = "seed " + seed + ", " + only + ", element " + i + " of " + exact;
          assertEquals(numbers.bits(exact), numbers.get(result.bytes(), i), where);
          assertEquals(numbers.bits(exact), numbers.get(copy.bytes(), i), where);
        }
      }
    }
  }

  /** Contributions of narrow wires are taken as they arrive, this rank's as others get it. */
  @ParameterizedTest
  @EnumSource(names = {"BFLOAT16", "FLOAT16"})
  void isThatOfRoundedContributions(WireType wire) {
    NarrowWire narrow = NarrowWire.of(wire);
    int n = 3;
    int count = 5000;
    Random random = new Random(1);
    float[][] values = new float[n][count];
    for (int i = 0; i < count; i++) {
      for (int rank = 0; rank < n; rank++) {
        values[rank][i] = (float) (random.nextGaussian() * Math.exp(3 * random.nextGaussian()));
      }
    }
    float[] result = values[1].clone();
    Memory own = Memories.of(Payload.of(result));
    for (int rank = 0; rank < n; rank++) {
      if (rank == 1) {
        reduction.add(own, 0);
      } else {
        FrameBytes frame = frame(narrow.length(count));
        narrow.store(Memories.of(Payload.of(values[rank])), 0, count, frame, 0, null, scratch);
        reduction.add(frame, 0);
      }
    }
    reduction.run(ReduceOp.SUM, Manner.EXACT, own, 0, count, 1, narrow);
    for (int i = 0; i < count; i++) {
      double[] rounded = new double[n];
      for (int rank = 0; rank < n; rank++) {
        float value = values[rank][i];
        rounded[rank] =
            wire == WireType.BFLOAT16
                ? Bfloat16.toFloat(Bfloat16.of(value))
                : Float16.toFloat(Float16.of(value));
      }
      assertEquals((float) ExactSums.of(rounded, 1, 24, -149), result[i], "element " + i);
    }
  }

  /** Of ordinary numbers next to none has to be summed the slow way, nor of exact sums any. */
  @ParameterizedTest
  @EnumSource(mode = Mode.MATCH_ALL, names = ".*FLOAT.*")
  void isFastForOrdinaryNumbers(ElementType type) {
    Numbers numbers = Numbers.of(type);
    Elements elements = ElementTypes.of(type);
    int count = 1024;
    int n = 8;
    int doubtful = 0;
    int turns = 50;
    Random random = new Random(2);
    Object result = elements.newArray(count);
    for (int turn = 0; turn < turns; turn++) {
      ExactSum sum = ExactSum.of(type, scratch);
      for (int rank = 0; rank < n; rank++) {
        Object block = block(elements, numbers, count, random, turn % 2 == 0);
        if (rank == 0) {
          sum.begin(block, count, scratch);
        } else {
          sum.add(block, count, scratch);
        }
      }
      sum.finish(result, count, n, turn % 4 < 2 ? 1 : 6, scratch);
      doubtful += sum.doubtful();
      assertTrue(turn % 2 == 0 || sum.doubtful() == 0, "small integers are added exactly");
    }
    double part = doubtful / (turns / 2.0 * count);
    assertTrue(part < (type.bytes() == 2 ? 0.004 : 0.0001), part + " of the elements are in doubt");
  }

  private static Object block(
      Elements elements, Numbers numbers, int count, Random random, boolean gaussian) {
    FrameBytes frame = frame(count * elements.type.bytes());
    for (int i = 0; i < count; i++) {
      double value = gaussian ? random.nextGaussian() : random.nextInt(9) - 4;
      numbers.put(frame.bytes(), i, numbers.nearest(value));
    }
    Object block = elements.newArray(count);
    elements.get(elements.view(frame), 0, block, 0, count);
    return block;
  }

  /** The slow way by itself, which the fast way hides. */
  @Test
  void theSlowWayIsRight() {
    Superaccumulator accumulator = new Superaccumulator();
    for (ElementType type : ElementType.values()) {
      if (type.isInteger()) {
        continue;
      }
      Numbers numbers = Numbers.of(type);
      Random random = new Random(3);
      for (int i = 0; i < 20_000; i++) {
        Kind kind = Kind.values()[i % Kind.values().length];
        double[] values = numbers.contributions(kind, 1 + random.nextInt(9), random);
        int divisor = random.nextBoolean() ? 1 : 1 + random.nextInt(i % 2 == 0 ? 9 : 1 << 30);
        double expected = numbers.exact(values, divisor);
        double sum =
            accumulator.sum(values, 0, 1, values.length, divisor, numbers.precision, numbers.least);
        sum = numbers.nearest(sum);
        assertEquals(
            Double.doubleToRawLongBits(expected),
            Double.doubleToRawLongBits(sum),
            type + ", " + kind + ", sum " + i);
      }
    }
  }
}
