package io.collectives;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which elements a payload is made of, and what is refused. */
class PayloadTest {
  private static final int COUNT = 60;

  /** The elements that a payload touches, found by {@link InPlace}. */
  private static String touched(java.util.function.Function<Payload, Payload> of) {
    float[] ones = new float[COUNT];
    Arrays.fill(ones, 1);
    InPlace.zero(of.apply(Payload.of(ones)));
    ByteBuffer direct = ByteBuffer.allocateDirect(4 * COUNT).order(ByteOrder.nativeOrder());
    for (int i = 0; i < COUNT; i++) {
      direct.putFloat(4 * i, 2);
    }
    InPlace.divide(of.apply(Payload.of(direct, ElementType.FLOAT32)), 2);
    StringBuilder found = new StringBuilder();
    for (int i = 0; i < COUNT; i++) {
      assertEquals(ones[i] == 0, direct.getFloat(4 * i) == 1, "element " + i);
      found.append(ones[i] == 0 ? " " + i : "");
    }
    return found.toString().strip();
  }

  @Test
  void runsLieAStrideApart() {
    assertEquals("5 6 15 16 25 26", touched(all -> Payload.strided(all, 5, 3, 2, 10)));
    assertEquals("58 59", touched(all -> Payload.strided(all, 58, 2, 1, 1)));
    assertEquals("7 8 9", touched(all -> Payload.strided(all, 7, 1, 3, 1_000)));
    assertEquals("", touched(all -> Payload.strided(all, 60, 0, 3, 10)));
    assertEquals("", touched(all -> Payload.strided(all, 0, 9, 0, 100)));
    Payload payload = Payload.strided(Payload.of(new long[60]), 5, 3, 2, 10);
    assertEquals(6, payload.count());
    assertEquals(48, payload.length());
    assertEquals(ElementType.INT64, payload.type());
  }

  @Test
  void aRectangleOfAMatrix() {
    // Rows of 10.
    assertEquals("32 33 34 42 43 44", touched(all -> Payload.submatrix(all, 10, 3, 2, 2, 3)));
    assertEquals("50 51 52 53", touched(all -> Payload.submatrix(all, 10, 5, 0, 1, 4)));
    assertEquals("", touched(all -> Payload.submatrix(all, 10, 6, 10, 0, 0)));
    assertInstanceOf(
        Payload.OfArray.class, Payload.submatrix(Payload.of(new int[60]), 10, 2, 0, 3, 10));
  }

  /** Cubes: a plane of a row of matrices, and what is made of parts. */
  @Test
  void runsOfWhatIsNotOneArray() {
    // Of 3 x 4 x 5 elements those whose middle index is 1 or 2 and whose last one is 3.
    assertEquals(
        "8 13 28 33 48 53",
        touched(
            all ->
                Payload.of(
                    List.of(
                        Payload.submatrix(all, 5, 1, 3, 2, 1),
                        Payload.submatrix(all, 5, 5, 3, 2, 1),
                        Payload.submatrix(all, 5, 9, 3, 2, 1)))));
    // Runs of runs: the last of a run, and the first of the next, too.
    assertEquals(
        "6 7 8 17 18 25",
        touched(all -> Payload.strided(Payload.strided(all, 5, 3, 4, 10), 1, 2, 3, 5)));
    assertEquals(
        "1 10 11 20",
        touched(
            all ->
                Payload.strided(
                    Payload.of(
                        List.of(
                            Payload.strided(all, 0, 1, 2, 1), Payload.strided(all, 10, 2, 2, 10))),
                    1,
                    2,
                    2,
                    2)));
  }

  @Test
  void whatDoesNotLieWithinIsRefused() {
    Payload base = Payload.of(new float[20], 10, 10);
    for (long[] wrong :
        new long[][] {
          {-1, 1, 1, 1},
          {11, 0, 1, 1},
          {0, 2, 3, 8},
          {0, 1, 11, 1},
          {5, 6, 1, 1},
          {1, 3, 2, Long.MAX_VALUE / 2},
          {0, Integer.MAX_VALUE, 2, Integer.MAX_VALUE}
        }) {
      String message =
          assertThrows(
                  IndexOutOfBoundsException.class,
                  () -> Payload.strided(base, wrong[0], (int) wrong[1], (int) wrong[2], wrong[3]),
                  Arrays.toString(wrong))
              .getMessage();
      assertTrue(message.contains("payload of 10 elements"), message);
    }
    assertThrows(IllegalArgumentException.class, () -> Payload.strided(base, 0, -1, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> Payload.strided(base, 0, 1, 1, -1));
    assertThrows(
        IllegalArgumentException.class,
        () -> Payload.strided(base, 0, 1 << 30, 8, 0),
        "too many elements");
    for (int[] wrong :
        new int[][] {{0, 0, 0, 1, 1}, {3, 0, 1, 1, 3}, {3, 2, 0, 2, 1}, {3, -1, 0, 1, 1}}) {
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> Payload.submatrix(base, wrong[0], wrong[1], wrong[2], wrong[3], wrong[4]),
          Arrays.toString(wrong));
    }
  }

  @Test
  void runsThatOverlapCanBeDescribed() {
    Payload payload = Payload.strided(Payload.of(new float[10]), 0, 7, 4, 1);
    assertEquals(28, payload.count());
    assertTrue(((Payload.OfStrided) payload).overlaps());
    Payload same = Payload.strided(Payload.of(new float[] {1, 2}), 0, 5, 2, 0);
    assertEquals(10, same.count());
    assertArrayEquals(
        new float[] {1, 2},
        (float[]) ((Payload.OfArray) ((Payload.OfStrided) same).base()).array());
  }
}
