package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveBuffer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.testkit.RankThreads;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory that a call writes is nothing else of that call, unless its method says so. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class OverlapsTest {
  private final List<Communicator> worlds =
      Collectives.inProcess(
          2,
          CallSettings.defaults()
              .withAlgorithm(Algorithm.direct())
              .withTimeout(Duration.ofSeconds(20)));

  private final float[] a = new float[20];

  @AfterEach
  void close() {
    worlds.forEach(Communicator::close);
  }

  private Payload at(int offset, int count) {
    return Payload.of(a, offset, count);
  }

  private void refused(String one, String other, Runnable call) {
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, call::run);
    String message = e.getMessage();
    assertTrue(
        message.contains(one) && message.contains(other) && message.contains(" overlap: "),
        message);
  }

  @Test
  void overlapsAreRefusedByEveryMethod() throws Exception {
    Communicator zero = worlds.get(0);
    String in = "the input";
    String out = "the output";
    Payload all = Payload.of(a);
    Payload apart = Payload.of(new float[20]);
    ReduceOp sum = ReduceOp.SUM;

    refused(in, out, () -> zero.allReduce(at(0, 10), at(5, 10), sum));
    refused(in, out, () -> zero.async().allReduce(at(5, 10), at(0, 10), sum));
    refused(in, out, () -> zero.prepared().allReduce(at(0, 10), at(9, 10), sum));
    refused(in, out, () -> zero.reduce(at(0, 10), at(1, 10), sum, 0));
    refused(in, out, () -> zero.reduceScatter(all, at(0, 10), sum));
    refused(in, out, () -> zero.reduceScatter(all, at(5, 5), new long[] {5, 15}, sum));
    refused(in, out, () -> zero.allToAll(all, all));
    refused(in, out, () -> zero.async().allToAll(all, all));
    refused(in, out, () -> zero.prepared().allToAll(all, all));
    long[] halves = {5, 5};
    refused(in, out, () -> zero.allToAll(at(0, 10), halves, at(9, 10), halves));

    refused("elements 5 to 14", "elements 0 to 19", () -> zero.allGather(at(5, 10), all));
    refused("the part", "the whole", () -> zero.allGather(at(1, 4), all, new long[] {4, 16}));
    refused("the part", "the whole", () -> zero.gather(at(10, 10), all, 0));
    refused("the whole", "the part", () -> zero.scatter(all, at(10, 10), 0));
    refused("the part", "the whole", () -> worlds.get(1).allGather(at(0, 10), all));

    refused("input", "residual", () -> zero.allReduce(all, apart, sum, all));
    refused("output", "residual", () -> zero.allReduce(all, apart, sum, apart));
    refused("input", "residual", () -> zero.reduce(all, null, sum, 1, all));
    refused(
        "input", "residual", () -> zero.reduceScatter(all, Payload.of(new float[10]), sum, all));

    Payload twice = Payload.of(List.of(at(0, 10), at(9, 10)));
    refused("part 0 of the buffer", "part 1 of the buffer", () -> zero.broadcast(twice, 1));
    refused("part 1 of the payload", "part 0", () -> zero.receive(twice, 1));
    refused("part 0 of the output", "part 1", () -> zero.allReduce(twice, sum));
    refused("part 0 of the output", "part 1", () -> zero.allReduce(apart, twice, sum));
    Payload columns = Payload.strided(all, 0, 5, 2, 4);
    Payload others = Payload.strided(all, 1, 5, 2, 4);
    refused("2 of every 4", in, () -> zero.allReduce(columns, others, sum));
    refused(
        in, out, () -> zero.allReduce(Payload.of(List.of(at(0, 9), at(11, 1))), at(2, 10), sum));

    ByteBuffer direct = ByteBuffer.allocateDirect(80).order(ByteOrder.nativeOrder());
    Payload floats = Payload.of(direct, ElementType.FLOAT32);
    Payload ints = Payload.of(direct, ElementType.INT32);
    Payload both = Payload.of(List.of(floats, ints));
    refused("part 0 of", "part 1 of", () -> zero.allReduce(both, sum));
    refused("part 0 of", "part 1 of", () -> zero.receive(both, 1));
    refused(in, out, () -> zero.allReduce(floats.slice(0, 10), floats.slice(1, 10), sum));
    Payload cross = Payload.of(List.of(floats.slice(0, 10), Payload.of(new int[10])));
    Payload turned = Payload.of(List.of(Payload.of(new float[10]), ints.slice(0, 10)));
    refused(in, out, () -> zero.allReduce(cross, turned, sum));
    refused("input", "residual", () -> zero.allReduce(both, cross, sum, floats));

    // Nothing was sent, and the group is whole.
    RankThreads.run(
        worlds,
        world -> {
          float[] ones = {1, 1, 1};
          world.allReduce(ones, sum);
          assertArrayEquals(new float[] {2, 2, 2}, ones);
        });
  }

  @Test
  void rangesOfOneBufferAreComparedToo() throws Exception {
    RankThreads.run(
        worlds,
        world -> {
          CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 20);
          refused(
              "elements 0 to 9",
              "elements 5 to 14",
              () -> world.allReduce(buffer.payload(0, 10), buffer.payload(5, 10), ReduceOp.SUM));
          buffer.floats().put(0, 1);
          world.allReduce(buffer.payload(0, 10), buffer.payload(10, 10), ReduceOp.SUM);
          assertArrayEquals(
              new float[] {1, 2}, new float[] {buffer.floats().get(0), buffer.floats().get(10)});
        });
  }

  @Test
  void tensorsOfAReducerLieApart() throws Exception {
    RankThreads.run(
        worlds,
        world -> {
          float[] gradients = new float[10];
          try (GradientReducer reducer = GradientReducer.of(world, FusionSettings.defaults())) {
            reducer.register("w", Payload.of(gradients, 0, 6));
            refused(
                "tensor \"w\"",
                "tensor \"tied\"",
                () -> reducer.register("tied", Payload.of(gradients, 5, 5)));
            reducer.register("b", Payload.of(gradients, 6, 4));
          }
        });
  }

  @Test
  void whatDoesNotOverlapIsLegal() throws Exception {
    RankThreads.run(
        worlds,
        world -> {
          int rank = world.rank();
          float[] matrix = new float[8];
          for (int i = 0; i < 8; i++) {
            matrix[i] = i % 2 == 0 ? 1 + rank : -1;
          }
          Payload whole = Payload.of(matrix);
          // Columns that lie between each other.
          Payload even = Payload.strided(whole, 0, 4, 1, 2);
          Payload odd = Payload.strided(whole, 1, 4, 1, 2);
          world.allReduce(even, odd, ReduceOp.SUM);
          assertArrayEquals(
              new float[] {1 + rank, 3, 1 + rank, 3, 1 + rank, 3, 1 + rank, 3}, matrix);
          world.allReduce(Payload.of(List.of(odd, even)), ReduceOp.SUM);
          assertArrayEquals(new float[] {3, 6, 3, 6, 3, 6, 3, 6}, matrix);

          // In place, as other payloads, and cut in another way.
          float[] x = {1, 2, 3, 4};
          world.allReduce(
              Payload.of(List.of(Payload.of(x, 0, 1), Payload.of(x, 1, 3))),
              Payload.of(List.of(Payload.of(x, 0, 2), Payload.of(x, 2, 2))),
              ReduceOp.SUM);
          assertArrayEquals(new float[] {2, 4, 6, 8}, x);
          world.reduce(Payload.of(x), Payload.of(x, 0, 4), ReduceOp.SUM, 0);

          // Parts in their places, and next to what is written.
          float[] y = {7, 7, 7, 7};
          y[rank] = rank;
          world.allGather(Payload.of(y, rank, 1), Payload.of(y, 0, 2));
          assertArrayEquals(new float[] {0, 1, 7, 7}, y);
          world.gather(Payload.of(y, rank, 1), Payload.of(y, 0, 2), 0);
          world.scatter(Payload.of(y, 0, 2), Payload.of(y, rank, 1), 0);
          world.allToAll(Payload.of(y, 0, 2), Payload.of(y, 2, 2));
          assertArrayEquals(new float[] {0, 1, rank, rank}, y);
          world.allReduce(Payload.of(y, 1, 0), Payload.of(y, 1, 0), ReduceOp.SUM);

          // What is read may be read twice; a residual beside its input.
          Payload twice = Payload.of(List.of(Payload.of(y, 0, 1), Payload.of(y, 0, 1)));
          float[] z = new float[6];
          world.allReduce(twice, Payload.of(z, 0, 2), ReduceOp.SUM);
          world.allReduce(
              Payload.of(z, 0, 2), Payload.of(z, 2, 2), ReduceOp.SUM, Payload.of(z, 4, 2));
          if (rank == 0) {
            world.send(twice, 1);
          } else {
            world.receive(Payload.of(z, 0, 2), 0);
          }
        });
  }
}
