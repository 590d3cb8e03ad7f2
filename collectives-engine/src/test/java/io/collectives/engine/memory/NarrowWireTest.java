package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.engine.memory.Held.Kind;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.Random;
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
    NarrowWire.BLOCK - 1,
    NarrowWire.BLOCK,
    NarrowWire.BLOCK + 1,
    2 * NarrowWire.BLOCK + Elements.SHORT + 1
  };

  private final Scratch scratch = new Scratch();

  private static float rounded(WireType type, Number value) {
    return Number16.nearest(ElementType.valueOf(type.name()), value.floatValue()).floatValue();
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AS_IN_MEMORY")
  void whatArrivesIsRounded(WireType type) {
    NarrowWire narrow = Objects.requireNonNull(NarrowWire.of(type));
    Random random = new Random(SEED);
    for (Kind kind : Kind.values()) {
      for (Kind other : Kind.values()) {
        for (int count : COUNTS) {
          String which = type + ", " + kind + ", " + other + ", " + count + ", seed " + SEED;
          Number[] sent = Held.random(ElementType.FLOAT32, count + 2, random);
          Number[] own = Held.random(ElementType.FLOAT32, count + 3, random);
          Held source = Held.of(kind, ElementType.FLOAT32, sent, random);
          Held replaced = Held.of(other, ElementType.FLOAT32, own, random);
          Held reduced = Held.of(other, ElementType.FLOAT32, own, random);
          int length = narrow.length(count);
          FrameBytes frame = new FrameBytes(ByteBuffer.allocateDirect(8 + length));

          narrow.store(source.memory(), 1, count, frame, 4, scratch);
          narrow.replace(replaced.memory(), 2, count, frame, 4, scratch);
          narrow.reduce(
              ReduceOp.SUM, reduced.memory(), 2, count, reduced.memory(), 2, frame, 4, scratch);
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

          narrow.round(source.memory(), 1, count, scratch);
          System.arraycopy(expected, 2, sent, 1, count);
          assertSame(sent, source.elements(), which);
        }
      }
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
    NarrowWire narrow = Objects.requireNonNull(NarrowWire.of(type));
    for (int length = 8; length < 10_000; length++) {
      int fitting = narrow.fitting(length);
      assertEquals(true, fitting >= 4 && narrow.length(fitting) <= length, "of " + length);
      assertEquals(true, narrow.length(fitting + 1) > length, "of " + length);
    }
  }
}
