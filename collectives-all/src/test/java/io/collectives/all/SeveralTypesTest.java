package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.CollectiveBuffer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
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

/** What is refused of payloads of several types and of runs; that they work is in the kits. */
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
    try (Communicator world = Collectives.inProcess(1, CallSettings.defaults()).get(0)) {
      for (Executable wrong :
          List.<Executable>of(
              () -> world.allReduce(one, other, ReduceOp.SUM),
              () -> world.allReduce(one, longer, ReduceOp.SUM),
              () -> world.allReduce(one, floats, ReduceOp.SUM),
              () -> world.allReduce(floats, one, ReduceOp.SUM),
              () -> world.allReduceAsync(one, other, ReduceOp.SUM),
              () -> world.allReduce(overlapping, ReduceOp.SUM),
              () -> world.allReduce(Payload.of(List.of(doubles, overlapping)), ReduceOp.SUM),
              () -> world.allReduce(one, one, ReduceOp.SUM, Payload.of(new float[8])),
              () -> world.allReduce(one, one, ReduceOp.MAX, Payload.of(new float[4])),
              () -> world.allReduce(one, one, ReduceOp.SUM, one))) {
        assertThrows(IllegalArgumentException.class, wrong);
      }
      assertEquals(0, world.nextSequence());
      world.allReduce(overlapping, Payload.of(new float[8]), ReduceOp.SUM);
      assertEquals(1, world.nextSequence());
    }
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
      buffer.close();
      for (Payload payload : List.of(runs, parts, tensors)) {
        assertThrows(IllegalStateException.class, () -> world.allReduce(payload, ReduceOp.SUM));
      }
    }
  }
}
