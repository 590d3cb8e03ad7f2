package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.CollectiveBuffer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.NonFiniteException;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Some payloads of several types and of runs are refused; that others work is in the kits. */
@Timeout(60)
class SeveralTypesTest {

  /** In what the payload of rank 1 differs from ten float32 and five bfloat16 elements. */
  enum Other {
    ORDER("element type", "float32", "bfloat16"),
    FEWER_TYPES("number of further element types", "0", "1"),
    MORE_TYPES("number of further element types", "2", "1"),
    COUNT("count", "5", "6");

    final List<String> words;

    Other(String... words) {
      this.words = List.of(words);
    }

    Payload payload() {
      Payload floats = Payload.of(new float[10]);
      Payload shorts = Payload.of(new short[5], ElementType.BFLOAT16);
      return switch (this) {
        case ORDER -> Payload.of(List.of(shorts, floats));
        case FEWER_TYPES -> floats;
        case MORE_TYPES -> Payload.of(List.of(floats, shorts, Payload.of(new int[1])));
        case COUNT -> Payload.of(List.of(floats, Payload.of(new short[6], ElementType.BFLOAT16)));
      };
    }
  }

  @ParameterizedTest
  @EnumSource
  void otherTypesAreNamedOnEveryRank(Other other) throws Exception {
    Payload floats = Payload.of(new float[10]);
    Payload usual = Payload.of(List.of(floats, Payload.of(new short[5], ElementType.BFLOAT16)));
    List<Communicator> worlds = Collectives.inProcess(2, CallSettings.defaults());
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      List<Future<String>> messages =
          worlds.stream()
              .map(
                  world ->
                      threads.submit(
                          () -> mismatch(world, world.rank() == 0 ? usual : other.payload())))
              .toList();
      for (Future<String> message : messages) {
        String text = message.get(30, TimeUnit.SECONDS);
        assertTrue(text.contains("rank 0") && text.contains("rank 1"), text);
        other.words.forEach(word -> assertTrue(text.contains(word), text));
      }
    } finally {
      threads.shutdownNow();
      worlds.forEach(Communicator::close);
    }
  }

  private static String mismatch(Communicator world, Payload payload) {
    String message =
        assertThrows(MismatchException.class, () -> world.allReduce(payload, ReduceOp.SUM))
            .getMessage();
    assertThrows(MismatchException.class, world::barrier, "the group is broken now");
    return message;
  }

  @Test
  void payloadsThatDoNotFitEachOtherAreRefused() {
    Payload floats = Payload.of(new float[4]);
    Payload doubles = Payload.of(new double[4]);
    Payload one = Payload.of(List.of(floats, doubles));
    Payload other = Payload.of(List.of(doubles, floats));
    Payload longer = Payload.of(List.of(floats, Payload.of(new double[5])));
    Payload overlapping = Payload.strided(Payload.of(new float[8]), 0, 2, 4, 3);
    UserOp ofFloats = UserOp.commutative("floats").withFloats((a, b) -> a);
    try (Communicator world = Collectives.inProcess(1, CallSettings.defaults()).get(0)) {
      for (Executable wrong :
          List.<Executable>of(
              () -> world.allReduce(one, other, ReduceOp.SUM),
              () -> world.allReduce(one, longer, ReduceOp.SUM),
              () -> world.allReduce(one, floats, ReduceOp.SUM),
              () -> world.allReduce(floats, one, ReduceOp.SUM),
              () -> world.async().allReduce(one, other, ReduceOp.SUM),
              () -> world.allReduce(overlapping, ReduceOp.SUM),
              () -> world.allReduce(Payload.of(List.of(doubles, overlapping)), ReduceOp.SUM),
              () -> world.allReduce(one, one, ReduceOp.SUM, Payload.of(new float[8])),
              () -> world.allReduce(one, one, ReduceOp.MAX, Payload.of(new float[4])),
              () -> world.allReduce(one, one, ReduceOp.SUM, one),
              () -> world.allReduce(one, ofFloats),
              () -> world.async().allReduce(one, ofFloats),
              () -> world.reduce(one, one, ofFloats, 0),
              () -> world.using(Repeatability.EXACT).allReduce(one, ReduceOp.PRODUCT),
              () ->
                  world
                      .using(Repeatability.RANK_ORDER)
                      .allReduce(one, one, ReduceOp.SUM, Payload.of(new float[4])),
              () -> world.prepared().allReduce(one, ReduceOp.SUM),
              () -> world.prepared().allReduce(floats, one, ReduceOp.SUM),
              () -> world.prepared().reduce(one, one, ReduceOp.SUM, 0),
              () -> world.prepared().broadcast(one, 0))) {
        assertThrows(IllegalArgumentException.class, wrong);
      }
      String message =
          assertThrows(
                  IllegalArgumentException.class,
                  () -> world.prepared().allReduce(one, ReduceOp.SUM))
              .getMessage();
      assertTrue(message.contains("persistent") && message.contains("byType()"), message);
      assertEquals(0, world.nextSequence());
      world.allReduce(overlapping, Payload.of(new float[8]), ReduceOp.SUM);
      assertEquals(1, world.nextSequence());
    }
  }

  /** The contribution of a rank; every other element of the array of floats is between runs. */
  private static final class Numbers {
    final float[] floats;
    final int[] ints;
    final double[] doubles;
    final Payload payload;

    Numbers(int rank) {
      floats = new float[] {(1 - rank) * 1e8f + rank % 2, 0, rank % 2, 0, rank == 2 ? -1e8f : 0, 0};
      ints = new int[] {rank, 10 * rank};
      doubles = new double[] {rank == 0 ? 1e16 : rank == 1 ? 1 : -1e16, rank, 0};
      payload =
          Payload.of(
              List.of(
                  Payload.strided(Payload.of(floats), 0, 3, 1, 2),
                  Payload.of(ints),
                  Payload.of(doubles)));
    }
  }

  private interface Calls {
    void run(Communicator world) throws Exception;
  }

  private static void onThreeRanks(Calls calls) throws Exception {
    List<Communicator> worlds = Collectives.inProcess(3, CallSettings.defaults());
    ExecutorService threads = Executors.newFixedThreadPool(3);
    try {
      List<Future<?>> ranks = new ArrayList<>();
      for (Communicator world : worlds) {
        ranks.add(
            threads.submit(
                () -> {
                  calls.run(world);
                  return null;
                }));
      }
      for (Future<?> rank : ranks) {
        rank.get(30, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
      worlds.forEach(Communicator::close);
    }
  }

  @Test
  void eachTypeIsReducedAsItIsAlone() throws Exception {
    UserOp first =
        UserOp.inRankOrder("first")
            .withFloats((a, b) -> a)
            .withDoubles((a, b) -> a)
            .withInts((a, b) -> a);
    onThreeRanks(
        world -> {
          Numbers numbers = new Numbers(world.rank());
          world.using(Repeatability.EXACT).allReduce(numbers.payload, ReduceOp.SUM);
          assertArrayEquals(new int[] {3, 30}, numbers.ints);
          assertArrayEquals(new double[] {1, 3, 0}, numbers.doubles);
          assertArrayEquals(new float[] {1, 0, 1, 0, -1e8f, 0}, numbers.floats);
          numbers = new Numbers(world.rank());
          world.async().allReduce(numbers.payload, first).await();
          assertArrayEquals(new int[] {0, 0}, numbers.ints);
          assertArrayEquals(new double[] {1e16, 0, 0}, numbers.doubles);
          numbers = new Numbers(world.rank());
          world.reduce(numbers.payload, numbers.payload, first, 2);
          if (world.rank() == 2) {
            assertArrayEquals(new int[] {0, 0}, numbers.ints);
            assertEquals(1e8f, numbers.floats[0]);
          }
        });
  }

  /** The lowest rank before the first type, and the group is whole. */
  @Test
  void whatIsNotFiniteIsNamedTheSameOnAllRanks() throws Exception {
    onThreeRanks(
        world -> {
          Communicator checking = world.checkingFinite();
          for (int round = 0; round < 10; round++) {
            Numbers numbers = new Numbers(world.rank());
            Payload payload = numbers.payload;
            if (world.rank() == 2) {
              numbers.floats[0] = Float.NaN;
            } else if (world.rank() == 1) {
              numbers.floats[4] = round < 5 ? 0 : Float.NEGATIVE_INFINITY;
              numbers.doubles[1] = Double.POSITIVE_INFINITY;
            }
            boolean isAsync = round % 2 == 1;
            NonFiniteException found =
                assertThrows(
                    NonFiniteException.class,
                    () -> {
                      if (isAsync) {
                        checking.async().allReduce(payload, ReduceOp.SUM).await();
                      } else {
                        checking.allReduce(payload, ReduceOp.SUM);
                      }
                    });
            assertEquals(1, found.worldRank());
            assertEquals(round < 5 ? ElementType.FLOAT64 : ElementType.FLOAT32, found.type());
            assertEquals(round < 5 ? 1 : 2, found.index());
            assertArrayEquals(new int[] {3, 30}, numbers.ints);
            assertTrue(Float.isNaN(numbers.floats[0]));
          }
          world.barrier();
        });
  }

  /** However deep it lies in a payload. */
  @Test
  void closedBuffersAreRefused() {
    try (Communicator world = Collectives.inProcess(1, CallSettings.defaults()).get(0)) {
      CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 100);
      Payload runs = Payload.strided(buffer.payload(), 0, 10, 2, 10);
      Payload parts = Payload.of(List.of(Payload.of(new float[1]), buffer.payload(7, 1)));
      Payload tensors = Payload.of(List.of(Payload.of(new int[1]), runs));
      for (Payload payload : List.of(runs, parts, tensors)) {
        world.allReduce(payload, ReduceOp.SUM);
      }
      PersistentCall prepared = world.prepared().allReduce(runs, ReduceOp.SUM);
      prepared.run();
      buffer.close();
      assertThrows(IllegalStateException.class, prepared::run);
      for (Payload payload : List.of(runs, parts, tensors)) {
        assertThrows(IllegalStateException.class, () -> world.allReduce(payload, ReduceOp.SUM));
      }
    }
  }
}
