package io.collectives;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;

class InPlaceTest {
  @Test
  void onlyTheRangeOfAnArrayIsTouched() {
    float[] floats = {1, 2, 3, 4};
    double[] doubles = {1, 2, 3, 4};
    int[] ints = {1, -7, 7, 4};
    long[] longs = {1, -7, 7, 4};
    InPlace.divide(Payload.of(floats, 1, 2), 2);
    InPlace.divide(Payload.of(doubles, 1, 2), 2);
    InPlace.divide(Payload.of(ints, 1, 2), 2);
    InPlace.divide(Payload.of(longs, 1, 2), 2);
    assertArrayEquals(new float[] {1, 1, 1.5f, 4}, floats);
    assertArrayEquals(new double[] {1, 1, 1.5, 4}, doubles);
    assertArrayEquals(new int[] {1, -3, 3, 4}, ints);
    assertArrayEquals(new long[] {1, -3, 3, 4}, longs);
    InPlace.zero(Payload.of(List.of(Payload.of(floats, 0, 1), Payload.of(floats, 2, 2))));
    assertArrayEquals(new float[] {0, 1, 0, 0}, floats);
  }

  @Test
  void narrowNumbersAreDividedAsFloats() {
    short[] bits = {Bfloat16.of(3), Bfloat16.of(5), Bfloat16.of(1)};
    InPlace.divide(Payload.of(bits, 1, 2, ElementType.BFLOAT16), 2);
    assertArrayEquals(new short[] {Bfloat16.of(3), Bfloat16.of(2.5f), Bfloat16.of(0.5f)}, bits);
    short[] half = {Float16.of(5)};
    InPlace.divide(Payload.of(half, ElementType.FLOAT16), 4);
    assertEquals(1.25f, Float16.toFloat(half[0]));
    InPlace.zero(Payload.of(bits, ElementType.BFLOAT16));
    assertArrayEquals(new short[3], bits);
  }

  @Test
  void buffersAreWhatTheirTypeSays() {
    for (ElementType type : ElementType.values()) {
      ByteBuffer bytes = ByteBuffer.allocateDirect(2 * type.bytes()).order(ByteOrder.nativeOrder());
      while (bytes.hasRemaining()) {
        bytes.put((byte) 1);
      }
      InPlace.zero(Payload.of(bytes.clear(), type));
      assertEquals(ByteBuffer.allocate(2 * type.bytes()), bytes, type.toString());
    }
  }
}
