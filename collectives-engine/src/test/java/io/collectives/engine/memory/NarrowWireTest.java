package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.engine.memory.Held.Kind;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Pieces that go into a frame as narrow numbers and come out of it, in all kinds of memory. */
@Timeout(60)
class NarrowWireTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_121L);
  private static final int[] COUNTS = {
    0,
    1,
    2,
    3,
    Elements.SHORT - 1,
    Elements.SHORT,
    Elements.SHORT + 1,
    Converter8.BLOCK / 2,
    Converter8.BLOCK / 2 + 1,
    Converter8.BLOCK / 4 * 3,
    Converter8.BLOCK - 1,
    Converter8.BLOCK,
    Converter8.BLOCK + 1,
    Converter16.BLOCK - 1,
    Converter16.BLOCK,
    Converter16.BLOCK + 1,
    2 * Converter16.BLOCK + Elements.SHORT + 1
  };

  private final Scratch scratch = new Scratch();
  private final PairReduction pair = new PairReduction(scratch);

  int[] counts() {
    return COUNTS;
  }

  NarrowWire narrow(WireType type) {
    return Objects.requireNonNull(NarrowWire.of(type, () -> null));
  }

  private static float rounded(WireType type, Number value) {
    return Number16.nearest(ElementType.valueOf(type.name()), value.floatValue()).floatValue();
  }

  @ParameterizedTest
  @EnumSource(names = {"BFLOAT16", "FLOAT16"})
  void whatArrivesIsRounded(WireType type) {
    NarrowWire narrow = narrow(type);
    Random random = new Random(SEED);
    for (Kind kind : Kind.values()) {
      for (Kind other : Kind.values()) {
        for (int count : counts()) {
          String which = type + ", " + kind + ", " + other + ", " + count + ", seed " + SEED;
          Number[] sent = Held.random(ElementType.FLOAT32, count + 2, random);
          Number[] own = Held.random(ElementType.FLOAT32, count + 3, random);
          Held source = Held.of(kind, ElementType.FLOAT32, sent, random);
          Held replaced = Held.of(other, ElementType.FLOAT32, own, random);
          Held reduced = Held.of(other, ElementType.FLOAT32, own, random);
          int length = narrow.length(count);
          FrameBytes frame = new FrameBytes(ByteBuffer.allocateDirect(8 + length));

          narrow.store(source.memory(), 1, count, frame, 4, null, scratch);
          narrow.replace(replaced.memory(), 2, count, frame, 4, scratch);
          pair.by(ReduceOp.SUM, 1, narrow)
              .run(reduced.memory(), 2, count, reduced.memory(), 2, frame, 4);
          assertEquals(0, frame.bytes().getInt(0), which);
          assertEquals(0, frame.bytes().getInt(4 + length), which);

          Number[] expected = own.clone();
          Number[] sum = own.clone();
          for (int i = 0; i < count; i++) {
            expected[2 + i] = rounded(type, sent[1 + i]);
            sum[2 + i] = own[2 + i].floatValue() + rounded(type, sent[1 + i]);
          }
          assertSame(expected, replaced.elements(), which);
          assertSame(sum, reduced.elements(), which);
          assertSame(sent, source.elements(), which);

          narrow.round(source.memory(), 1, count, null, scratch);
          System.arraycopy(expected, 2, sent, 1, count);
          assertSame(sent, source.elements(), which);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"BFLOAT16", "FLOAT16"})
  void whateverBitsAFloatHas(WireType type) {
    Random random = new Random(SEED);
    float[] values = new float[Converter16.BLOCK];
    Number[] expected = new Number[values.length];
    for (int i = 0; i < values.length; i++) {
      int bits = random.nextInt();
      // Every fourth has a great exponent: numbers near the greatest, infinities, NaN.
      values[i] = Float.intBitsToFloat(i % 4 == 0 ? bits & 0x8080_0001 | 0x7f00_0000 : bits);
      expected[i] = rounded(type, values[i]);
    }
    Memory memory = Memories.of(Payload.of(values));
    narrow(type).round(memory, 0, values.length, null, scratch);
    for (int i = 0; i < values.length; i++) {
      assertEquals(expected[i], values[i], "element " + i + ", seed " + SEED);
    }
  }

  private static void assertSame(Number[] expected, Number[] actual, String which) {
    assertEquals(expected.length, actual.length, which);
    for (int i = 0; i < expected.length; i++) {
      if (!expected[i].equals(actual[i])) {
        assertEquals(expected[i], actual[i], which + ", element " + i);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AS_IN_MEMORY")
  void piecesFitWhereTheyMust(WireType type) {
    NarrowWire narrow = narrow(type);
    for (int length = 8; length < 10_000; length++) {
      int fitting = narrow.fitting(length);
      assertEquals(true, fitting >= 4 && narrow.length(fitting) <= length, "of " + length);
      assertEquals(true, narrow.length(fitting + 1) > length, "of " + length);
    }
  }

  /** Four planes of {@code words} numbers; 64 of each plane share an exponent. */
  @Test
  void groupsOfNumbersShareAnExponent() {
    NarrowWire narrow = narrow(WireType.INT8);
    Random random = new Random(SEED);
    for (int count : counts()) {
      for (int range : new int[] {0, 3, 30}) {
        float[] sent = new float[count];
        for (int i = 0; i < count; i++) {
          sent[i] = (float) Math.scalb(random.nextDouble() - 0.5, random.nextInt(range + 1));
        }
        float[] arrived = new float[count];
        FrameBytes frame = new FrameBytes(ByteBuffer.allocateDirect(narrow.length(count)));
        Memory memory = Memories.of(Payload.of(sent));
        narrow.store(memory, 0, count, frame, 0, null, scratch);
        narrow.replace(Memories.of(Payload.of(arrived)), 0, count, frame, 0, scratch);
        float[] expected = new float[count];
        for (int block = 0; block < count; block += Converter8.BLOCK) {
          roundGroups(sent, expected, block, Math.min(Converter8.BLOCK, count - block));
        }
        assertArrayEquals(expected, arrived, count + " elements, seed " + SEED);
        // Sums are passed on: what is packed again must not change.
        narrow.round(Memories.of(Payload.of(arrived)), 0, count, null, scratch);
        assertArrayEquals(expected, arrived, count + " elements again, seed " + SEED);
      }
    }
  }

  private static void roundGroups(float[] sent, float[] expected, int block, int count) {
    int words = (count + 3) / 4;
    double[] greatest = new double[8];
    for (int i = 0; i < count; i++) {
      int group = i % words / 64;
      greatest[group] = Math.max(greatest[group], Math.abs(sent[block + i]));
    }
    for (int i = 0; i < count; i++) {
      double unit = 0x1p-120;
      while (127 * unit < greatest[i % words / 64]) {
        unit *= 2;
      }
      // There is no negative zero.
      expected[block + i] = (float) (Math.rint(sent[block + i] / unit) * unit) + 0f;
    }
  }

  @Test
  void nanAndInfinitiesTakeTheirGroupAlong() {
    NarrowWire narrow = narrow(WireType.INT8);
    for (int count : new int[] {7, Converter8.BLOCK}) {
      for (float special : new float[] {Float.NaN, Float.NEGATIVE_INFINITY, Float.MAX_VALUE}) {
        float[] values = new float[count];
        Arrays.fill(values, 1);
        values[5] = special;
        narrow.round(Memories.of(Payload.of(values)), 0, count, null, scratch);
        int words = (count + 3) / 4;
        for (int i = 0; i < count; i++) {
          assertEquals(i % words / 64 == 0 ? Float.NaN : 1, values[i], "element " + i);
        }
      }
    }
    float greatest = 127 * 0x1p121f;
    float[] values = {greatest, -greatest, 0x1p-130f};
    narrow.round(Memories.of(Payload.of(values)), 0, 3, null, scratch);
    assertArrayEquals(new float[] {greatest, -greatest, 0}, values);
    float[] small = {0x1p-120f, -0x1p-122f, 0x1p-149f};
    narrow.round(Memories.of(Payload.of(small)), 0, 3, null, scratch);
    assertArrayEquals(new float[] {0x1p-120f, 0, 0}, small);
  }

  /** The sum of what is sent and what is kept is what there was, exactly. */
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AS_IN_MEMORY")
  void residualsHoldWhatIsLost(WireType type) {
    NarrowWire narrow = narrow(type);
    Random random = new Random(SEED);
    for (int count : counts()) {
      float[] sent = new float[count];
      float[] before = new float[count + 2];
      for (int i = 0; i < count; i++) {
        sent[i] = random.nextFloat() - 0.5f;
        before[1 + i] = (random.nextFloat() - 0.5f) / 256;
      }
      boolean special = count > 3;
      if (special) {
        sent[2] = Float.POSITIVE_INFINITY;
      }
      float[] residual = before.clone();
      float[] arrived = new float[count];
      FrameBytes frame = new FrameBytes(ByteBuffer.allocateDirect(narrow.length(count)));
      narrow.store(
          Memories.of(Payload.of(sent)),
          0,
          count,
          frame,
          0,
          new Residual().at(Memories.of(Payload.of(residual)), 1),
          scratch);
      narrow.replace(Memories.of(Payload.of(arrived)), 0, count, frame, 0, scratch);
      for (int i = 0; i < count; i++) {
        String which = type + ", element " + i + " of " + count + ", seed " + SEED;
        float whole = sent[i] + before[1 + i];
        float kept = Float.isFinite(arrived[i]) ? whole - arrived[i] : 0;
        assertEquals(kept, residual[1 + i], which);
        if (Float.isFinite(arrived[i])) {
          assertEquals((double) whole, (double) arrived[i] + residual[1 + i], which);
        }
      }
      assertEquals(0f, residual[0]);
      assertEquals(0f, residual[count + 1]);
    }
  }
}
