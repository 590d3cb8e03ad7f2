package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A reduction of several operands gives the bits of one pairwise reduction after the other,
 * whatever kinds of memory meet.
 */
class OrderedReductionTest {
  private static final int SEEDS = 15;
  private final Scratch scratch = new Scratch();
  private final PairReduction pair = new PairReduction(scratch, kernels());
  private final OrderedReduction ordered = new OrderedReduction(scratch, kernels());

  /** Returns the kernels that reductions use where they can. */
  Kernels kernels() {
    return Kernels.NONE;
  }

  @ParameterizedTest
  @EnumSource
  void sumsAndPlaces(ElementType type) {
    for (long seed = 0; seed < SEEDS; seed++) {
      RandomGenerator random = new SplittableRandom(seed);
      int others = 1 + random.nextInt(8);
      int count = random.nextInt(random.nextBoolean() ? 300 : 40_000);
      boolean aligned = random.nextInt(3) > 0;
      boolean inPlace = random.nextBoolean();
      ReduceOp.Standard op =
          ReduceOp.Standard.values()[random.nextInt(ReduceOp.Standard.values().length)];
      int divisor = op == ReduceOp.AVERAGE ? others + 1 : 1;
      int common = random.nextInt(20);
      Operand[] inputs = new Operand[others + 1];
      Operand[] outputs = new Operand[others + 1];
      for (int i = 0; i <= others; i++) {
        inputs[i] =
            new Operand(type, count, aligned, aligned ? common : random.nextInt(20), random);
        outputs[i] =
            inPlace
                ? inputs[i]
                : new Operand(type, count, aligned, aligned ? common : random.nextInt(20), random);
      }
      long[] expected = expected(type, op, inputs, count, divisor);
      ordered.add(inputs[0].memory, inputs[0].from);
      for (int i = 1; i <= others; i++) {
        ordered.add(inputs[i].memory, inputs[i].from, outputs[i].memory, outputs[i].from);
      }
      ordered.run(
          op,
          OrderedReduction.Manner.SEQUENTIAL,
          outputs[0].memory,
          outputs[0].from,
          count,
          divisor,
          null);
      for (int i = 0; i <= others; i++) {
        assertBits(expected, outputs[i], "seed " + seed + ", output " + i);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void sumsInOrder(ElementType type) {
    for (long seed = 0; seed < SEEDS; seed++) {
      RandomGenerator random = new SplittableRandom(seed);
      int size = 2 + random.nextInt(8);
      int count = random.nextInt(5000);
      ReduceOp.Standard op =
          ReduceOp.Standard.values()[random.nextInt(ReduceOp.Standard.values().length)];
      int divisor = op == ReduceOp.AVERAGE ? size : 1;
      int own = random.nextInt(size);
      Operand[] inputs = new Operand[size];
      for (int i = 0; i < size; i++) {
        inputs[i] = new Operand(type, count, random.nextBoolean(), random.nextInt(20), random);
      }
      long[] expected = expected(type, op, inputs, count, divisor);
      for (int i = 0; i < size; i++) {
        if (i == own) {
          ordered.add(inputs[i].memory, inputs[i].from);
        } else {
          FrameBytes frame = new FrameBytes(ByteBuffer.allocateDirect(8 + count * type.bytes()));
          inputs[i].memory.store(inputs[i].from, count, frame, 8);
          ordered.add(frame, 8);
        }
      }
      ordered.run(
          op,
          OrderedReduction.Manner.SEQUENTIAL,
          inputs[own].memory,
          inputs[own].from,
          count,
          divisor,
          null);
      assertBits(expected, inputs[own], "seed " + seed);
    }
  }

  private long[] expected(
      ElementType type, ReduceOp.Standard op, Operand[] inputs, int count, int divisor) {
    ArrayMemory sum = ArrayMemory.ofZeros(type, count);
    sum.replace(0, count, inputs[0].memory, inputs[0].from);
    for (int i = 1; i < inputs.length; i++) {
      pair.by(op, i == inputs.length - 1 ? divisor : 1, null)
          .run(sum, 0, count, sum, 0, inputs[i].memory, inputs[i].from);
    }
    return bits(sum, 0, count);
  }

  private static void assertBits(long[] expected, Operand actual, String message) {
    long[] bits = bits(actual.memory, actual.from, expected.length);
    for (int i = 0; i < expected.length; i++) {
      assertEquals(expected[i], bits[i], message + ", element " + i);
    }
    actual.assertNothingElseWritten(message);
  }

  private static long[] bits(Memory memory, long from, int count) {
    int bytes = memory.type().bytes();
    ByteBuffer buffer =
        ByteBuffer.allocateDirect(count * bytes + 7 & ~7).order(ByteOrder.LITTLE_ENDIAN);
    memory.store(from, count, new FrameBytes(buffer), 0);
    long[] bits = new long[count];
    for (int i = 0; i < count; i++) {
      bits[i] =
          switch (bytes) {
            case 1 -> buffer.get(i);
            case 2 -> buffer.getShort(2 * i);
            case 4 -> buffer.getInt(4 * i);
            default -> buffer.getLong(8 * i);
          };
    }
    return bits;
  }

  /** A range of a memory, with one element more on either side. */
  private static final class Operand {
    final Memory memory;
    final long from;
    private final long[] edges;
    private final int count;

    Operand(ElementType type, int count, boolean array, int before, RandomGenerator random) {
      this.count = count;
      from = before + 1;
      int all = before + count + 2;
      Memory values = array ? ArrayMemory.ofZeros(type, all) : direct(type, all);
      ByteBuffer random8 = ByteBuffer.allocateDirect(all * 8).order(ByteOrder.LITTLE_ENDIAN);
      for (int i = 0; i < all; i++) {
        Held.write(random8, type.bytes() * i, Held.inner(type, random));
      }
      values.replace(0, all, new FrameBytes(random8), 0);
      memory = values;
      edges = edges();
    }

    private static Memory direct(ElementType type, int count) {
      ByteBuffer bytes =
          ByteBuffer.allocateDirect(count * type.bytes()).order(ByteOrder.nativeOrder());
      return Memories.of(Payload.of(bytes, type));
    }

    private long[] edges() {
      return new long[] {bits(memory, from - 1, 1)[0], bits(memory, from + count, 1)[0]};
    }

    void assertNothingElseWritten(String message) {
      assertEquals(edges[0], edges()[0], message + ", before");
      assertEquals(edges[1], edges()[1], message + ", after");
    }
  }
}
