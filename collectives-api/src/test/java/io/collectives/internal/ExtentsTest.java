package io.collectives.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ElementType;
import io.collectives.Payload;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Overlaps are found, and nothing else: they are compared with sets of single elements. */
@Tag("once")
class ExtentsTest {
  private static final int LENGTH = 30;

  private final int[][] arrays = {new int[LENGTH], new int[LENGTH]};
  private final ByteBuffer direct =
      ByteBuffer.allocateDirect(LENGTH * Integer.BYTES).order(ByteOrder.nativeOrder());
  private final IntBuffer view =
      ByteBuffer.allocateDirect(LENGTH * Integer.BYTES)
          .order(ByteOrder.nativeOrder())
          .asIntBuffer();

  /** A payload and its elements: the number of the memory times its length, and the index. */
  private record Known(Payload payload, List<Integer> elements) {

    boolean isTwofold() {
      return new HashSet<>(elements).size() < elements.size();
    }

    boolean overlaps(Known other) {
      Set<Integer> both = new HashSet<>(elements);
      both.retainAll(other.elements);
      return !both.isEmpty();
    }
  }

  private Known random(Random random) {
    List<Payload> parts = new ArrayList<>();
    List<Integer> elements = new ArrayList<>();
    int count = 1 + random.nextInt(3);
    for (int i = 0; i < count; i++) {
      int memory = random.nextInt(4);
      int run = random.nextInt(4);
      int runs = random.nextInt(5);
      int stride = random.nextInt(8);
      int touched = runs == 0 ? 0 : (runs - 1) * stride + run;
      if (touched > LENGTH) {
        continue;
      }
      int from = random.nextInt(LENGTH - touched + 1);
      parts.add(Payload.strided(whole(memory), from, runs, run, stride));
      for (int element = 0; element < runs * run; element++) {
        elements.add(memory * LENGTH + from + element / run * stride + element % run);
      }
    }
    return parts.isEmpty() ? random(random) : new Known(Payload.of(parts), elements);
  }

  private Payload whole(int memory) {
    return switch (memory) {
      case 2 -> Payload.of(direct, ElementType.INT32);
      case 3 -> Payload.of(view);
      default -> Payload.of(arrays[memory]);
    };
  }

  @Test
  void overlapsAreFoundAndNothingElseIs() {
    Random random = new Random(Long.getLong("collectives.seed", 20_261_123L));
    int[] found = new int[3];
    for (int i = 0; i < 20_000; i++) {
      Known written = random(random);
      Known read = random(random);
      boolean isRefused = isRefused(() -> new Extents().add("the output", written.payload));
      if (overlapsItselfByRuns(written.payload)) {
        continue; // Refused as an output elsewhere, whatever it overlaps.
      }
      assertEquals(written.isTwofold(), isRefused, () -> "" + written);
      if (isRefused) {
        found[0]++;
        continue;
      }
      Extents extents = new Extents();
      extents.add("the output", written.payload);
      boolean overlaps = isRefused(() -> extents.check("the input", read.payload));
      assertEquals(written.overlaps(read), overlaps, () -> written + " and " + read);
      found[overlaps ? 1 : 2]++;
      if (read.payload.count() <= written.payload.count()) {
        long at = random.nextInt((int) (written.payload.count() - read.payload.count()) + 1);
        boolean inPlace =
            read.elements.equals(
                written.elements.subList((int) at, (int) at + read.elements.size()));
        assertEquals(inPlace, Extents.liesIn(read.payload, written.payload, at));
      }
    }
    assertTrue(IntStream.of(found).allMatch(count -> count > 500), () -> Arrays.toString(found));
  }

  private static boolean overlapsItselfByRuns(Payload payload) {
    return payload instanceof Payload.OfStrided strided && strided.overlaps()
        || payload instanceof Payload.OfParts several
            && several.parts().stream().anyMatch(ExtentsTest::overlapsItselfByRuns);
  }

  private static boolean isRefused(Runnable check) {
    try {
      check.run();
      return false;
    } catch (IllegalArgumentException e) {
      return true;
    }
  }

  @Test
  void aPartThatLiesInItsPlaceMayBeCutInAnotherWay() {
    int[] array = arrays[0];
    Payload cut =
        Payload.of(
            List.of(Payload.of(array, 3, 4), Payload.of(array, 7, 0), Payload.of(array, 7, 5)));
    assertTrue(Extents.liesIn(cut, Payload.of(array), 3));
    assertTrue(Extents.liesIn(Payload.of(array, 3, 9), cut, 0));
    assertEquals(false, Extents.liesIn(cut, Payload.of(array), 4));
  }

  @Test
  void bothAreNamedWithTheirRanges() {
    Extents extents = new Extents();
    extents.add("the output", Payload.of(arrays[0], 10, 10));
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                extents.check(
                    "the input",
                    Payload.of(
                        List.of(
                            Payload.of(arrays[1]),
                            Payload.strided(Payload.of(arrays[0]), 1, 3, 2, 5)))));
    assertTrue(
        e.getMessage()
            .startsWith(
                "part 1 of the input and the output overlap: elements 1 to 12 of a int[30], 2 of"
                    + " every 5, and elements 10 to 19 of a int[30], in the same memory;"),
        e.getMessage());
  }

  /** Memory is known in another object by its address, where Java tells it. */
  @Test
  void slicesOfADirectBufferAreKnownFromJdk22On() {
    Extents extents = new Extents();
    extents.add(
        "the output", Payload.of(direct.slice(8, 16).order(direct.order()), ElementType.INT32));
    Payload input = Payload.of(direct.slice(20, 8).order(direct.order()), ElementType.FLOAT32);
    extents.check(
        "the input", Payload.of(direct.slice(24, 8).order(direct.order()), ElementType.INT32));
    assertEquals(
        Runtime.version().feature() >= 22, isRefused(() -> extents.check("the input", input)));
  }
}
