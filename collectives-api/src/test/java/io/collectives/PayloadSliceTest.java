package io.collectives;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;

class PayloadSliceTest {

  /** Zeros what a slice holds, which shows where it lies. */
  @Test
  void slicesLieInTheMemoryOfTheWhole() {
    float[] array = {1, 2, 3, 4, 5, 6};
    InPlace.zero(Payload.of(array, 1, 4).slice(1, 2));
    assertArrayEquals(new float[] {1, 2, 0, 0, 5, 6}, array);
    ByteBuffer bytes = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder());
    for (int i = 0; i < 6; i++) {
      bytes.putInt(4 * i, i + 1);
    }
    InPlace.zero(Payload.of(bytes, ElementType.INT32).slice(4, 2));
    InPlace.zero(Payload.of(bytes.asIntBuffer()).slice(0, 1));
    int[] left = new int[6];
    bytes.asIntBuffer().get(left);
    assertArrayEquals(new int[] {0, 2, 3, 4, 0, 0}, left);
  }

  @Test
  void slicesOfPartsGoOverTheirBorders() {
    float[] one = {1, 1, 1};
    float[] two = {2};
    float[] three = {3, 3, 3};
    Payload all = Payload.of(List.of(Payload.of(one), Payload.of(two), Payload.of(three)));
    Payload slice = all.slice(2, 3);
    assertEquals(3, slice.count());
    InPlace.zero(slice);
    assertArrayEquals(new float[] {1, 1, 0}, one);
    assertArrayEquals(new float[] {0}, two);
    assertArrayEquals(new float[] {0, 3, 3}, three);
    assertEquals(0, all.slice(7, 0).count());
    assertThrows(IndexOutOfBoundsException.class, () -> all.slice(5, 3));
    assertThrows(IndexOutOfBoundsException.class, () -> Payload.of(one).slice(-1, 1));
  }
}
