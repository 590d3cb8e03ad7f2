package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveBuffer;
import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.CommunicatorClosedException;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.NonFiniteException;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.testkit.RankThreads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls that are prepared once and made many times. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class PersistentCallTest {
  private static final int RANKS = 3;
  private static final int COUNT = 1000;
  private static final CallSettings SETTINGS =
      CallSettings.defaults().withFrameLength(512).withTimeout(Duration.ofSeconds(30));

  private final List<Communicator> worlds = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  @TempDir private Path directory;

  @AfterEach
  void close() {
    worlds.forEach(Communicator::close);
    threads.shutdownNow();
  }

  /** Every rank does it, in a thread of its own. */
  private void onAllRanks(String transport, int ranks, RankThreads.Body body) throws Exception {
    worlds.addAll(ThreadJobs.open(transport, ranks, directory, SETTINGS));
    ThreadJobs.run(worlds, body);
  }

  /** A call in both forms, and what it reads and writes. */
  private record Both(
      String name, PersistentCall prepared, Runnable ordinary, long[] input, long[] output) {}

  /** All collectives, made again and again with other numbers. */
  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "tcp", "shm"})
  void doesWhatTheOrdinaryCallDoes(String transport) throws Exception {
    onAllRanks(
        transport,
        RANKS,
        world -> {
          List<Both> calls = calls(world);
          for (int round = 0; round < 4; round++) {
            for (Both call : calls) {
              fill(call, world.rank(), round);
              call.ordinary.run();
              long[] expected = call.output.clone();
              fill(call, world.rank(), round);
              assertTrue(call.prepared.isDone());
              if (round % 2 == 0) {
                call.prepared.run();
              } else {
                call.prepared.start();
                call.prepared.await();
              }
              assertArrayEquals(expected, call.output, call.name + ", round " + round);
            }
            try (PersistentCall barrier = world.prepared().barrier()) {
              barrier.run();
            }
          }
          calls.forEach(call -> call.prepared.close());
          exchange(world);
        });
  }

  private static void fill(Both call, int rank, int round) {
    Arrays.fill(call.output, -1);
    for (int i = 0; i < call.input.length; i++) {
      call.input[i] = 1000L * round + 100L * rank + i;
    }
  }

  private static List<Both> calls(Communicator w) {
    int rank = w.rank();
    long[] whole = new long[COUNT];
    long[] result = new long[COUNT];
    long[] part = new long[(int) w.partCount(COUNT, rank)];
    long[] counts = {0, 10, 300};
    long[] some = new long[(int) counts[rank]];
    long[] all = new long[310];
    long[] each = new long[40];
    long[] ofAll = new long[40 * RANKS];
    long[] blocks = new long[RANKS * part.length];
    long[] sent = {rank, 2, 3};
    long[] received = {rank == 0 ? 0 : rank, 0, 0};
    for (int from = 0; from < RANKS; from++) {
      received[from] = rank == 0 ? from : rank + 1;
    }
    long[] toAll = new long[(int) Arrays.stream(sent).sum()];
    long[] fromAll = new long[(int) Arrays.stream(received).sum()];
    Payload wholeP = Payload.of(whole);
    Payload resultP = Payload.of(result);
    Payload partP = Payload.of(part);
    Payload someP = Payload.of(some);
    Payload allP = Payload.of(all);
    Payload eachP = Payload.of(each);
    Payload ofAllP = Payload.of(ofAll);
    Payload blocksP = Payload.of(blocks);
    Payload toAllP = Payload.of(toAll);
    Payload fromAllP = Payload.of(fromAll);
    Communicator ring = w.using(Algorithm.ring());
    ReduceOp sum = ReduceOp.SUM;
    List<Both> calls = new ArrayList<>();
    calls.add(
        new Both(
            "all-reduce",
            w.prepared().allReduce(wholeP, resultP, sum),
            () -> w.allReduce(wholeP, resultP, sum),
            whole,
            result));
    calls.add(
        new Both(
            "all-reduce in place",
            ring.prepared().allReduce(wholeP, ReduceOp.AVERAGE),
            () -> ring.allReduce(wholeP, ReduceOp.AVERAGE),
            whole,
            whole));
    calls.add(
        new Both(
            "broadcast",
            w.prepared().broadcast(wholeP, 1),
            () -> w.broadcast(wholeP, 1),
            whole,
            whole));
    calls.add(
        new Both(
            "reduce",
            w.prepared().reduce(wholeP, resultP, sum, 2),
            () -> w.reduce(wholeP, resultP, sum, 2),
            whole,
            result));
    calls.add(
        new Both(
            "reduce-scatter",
            w.prepared().reduceScatter(wholeP, partP, sum),
            () -> w.reduceScatter(wholeP, partP, sum),
            whole,
            part));
    calls.add(
        new Both(
            "reduce-scatter by counts",
            w.prepared().reduceScatter(allP, someP, counts, sum),
            () -> w.reduceScatter(allP, someP, counts, sum),
            all,
            some));
    calls.add(
        new Both(
            "all-gather",
            w.prepared().allGather(partP, resultP),
            () -> w.allGather(partP, resultP),
            part,
            result));
    calls.add(
        new Both(
            "all-gather by counts",
            ring.prepared().allGather(someP, allP, counts),
            () -> ring.allGather(someP, allP, counts),
            some,
            all));
    calls.add(
        new Both(
            "gather",
            w.prepared().gather(eachP, ofAllP, 0),
            () -> w.gather(eachP, ofAllP, 0),
            each,
            ofAll));
    calls.add(
        new Both(
            "gather by counts",
            w.prepared().gather(someP, allP, counts, 2),
            () -> w.gather(someP, allP, counts, 2),
            some,
            all));
    calls.add(
        new Both(
            "scatter",
            w.prepared().scatter(ofAllP, eachP, 1),
            () -> w.scatter(ofAllP, eachP, 1),
            ofAll,
            each));
    calls.add(
        new Both(
            "scatter by counts",
            w.prepared().scatter(allP, someP, counts, 0),
            () -> w.scatter(allP, someP, counts, 0),
            all,
            some));
    calls.add(
        new Both(
            "all-to-all",
            w.prepared().allToAll(wholeP, blocksP),
            () -> w.allToAll(wholeP, blocksP),
            whole,
            blocks));
    calls.add(
        new Both(
            "all-to-all by counts",
            w.prepared().allToAll(toAllP, sent, fromAllP, received),
            () -> w.allToAll(toAllP, sent, fromAllP, received),
            toAll,
            fromAll));
    return calls;
  }

  /**
   * Messages, one side prepared and the other not; and a residual, which changes from call to call.
   */
  private static void exchange(Communicator world) {
    long[] message = new long[COUNT];
    Payload payload = Payload.of(message);
    for (int round = 0; round < 3; round++) {
      if (world.rank() == 0) {
        message[COUNT - 1] = round;
        world.send(payload, 1);
      }
    }
    if (world.rank() == 1) {
      try (PersistentCall receive = world.prepared().receive(payload, 0);
          PersistentCall send = world.prepared().send(payload, 2)) {
        for (int round = 0; round < 3; round++) {
          receive.run();
          send.start();
          assertEquals(round, message[COUNT - 1]);
          assertTrue(send.await(Duration.ofSeconds(20)));
        }
      }
    }
    if (world.rank() == 2) {
      for (int round = 0; round < 3; round++) {
        world.receive(payload, 1);
        assertEquals(round, message[COUNT - 1]);
      }
    }
    Communicator narrow = world.using(Algorithm.direct()).using(WireType.BFLOAT16);
    float[] values = {1.001f, 2.003f, 3.005f, 4.007f};
    float[][] sums = new float[2][4];
    float[][] residuals = new float[2][4];
    Payload in = Payload.of(values);
    try (PersistentCall prepared =
        narrow
            .prepared()
            .allReduce(in, Payload.of(sums[0]), ReduceOp.SUM, Payload.of(residuals[0]))) {
      for (int round = 0; round < 4; round++) {
        prepared.run();
        narrow.allReduce(in, Payload.of(sums[1]), ReduceOp.SUM, Payload.of(residuals[1]));
        assertArrayEquals(sums[1], sums[0]);
        assertArrayEquals(residuals[1], residuals[0]);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "tcp", "shm"})
  void threeGroupsAreUsedByThreeThreads(String transport) throws Exception {
    int groups = 3;
    int rounds = 100;
    onAllRanks(
        transport,
        RANKS,
        world -> {
          List<Future<?>> ends = new ArrayList<>();
          for (int g = 0; g < groups; g++) {
            Communicator group = world.group(0, 1, 2);
            int number = g;
            ends.add(
                threads.submit(
                    () -> {
                      long[] values = new long[COUNT];
                      long[] sums = new long[COUNT];
                      try (PersistentCall call =
                          group
                              .prepared()
                              .allReduce(Payload.of(values), Payload.of(sums), ReduceOp.SUM)) {
                        for (int round = 0; round < rounds; round++) {
                          Arrays.fill(values, number + round + 10L * group.rank());
                          if ((round + number) % 2 == 0) {
                            call.run();
                          } else {
                            call.start();
                            call.await();
                          }
                          long[] expected = new long[COUNT];
                          Arrays.fill(expected, 3L * (number + round) + 30);
                          assertArrayEquals(expected, sums, "group " + number);
                        }
                      }
                      return null;
                    }));
          }
          for (Future<?> end : ends) {
            end.get();
          }
        });
  }

  /** A call that is started goes on by itself, and only its own end is awaited. */
  @Test
  void severalAreUnderWayAtOnce() throws Exception {
    onAllRanks(
        "inprocess",
        2,
        world -> {
          List<PersistentCall> calls = new ArrayList<>();
          List<float[]> arrays = new ArrayList<>();
          for (int i = 0; i < 12; i++) {
            arrays.add(new float[COUNT]);
            calls.add(world.prepared().allReduce(Payload.of(arrays.get(i)), ReduceOp.SUM));
          }
          for (int round = 0; round < 3; round++) {
            for (int i = 0; i < calls.size(); i++) {
              Arrays.fill(arrays.get(i), i + round);
              calls.get(i).start();
            }
            for (int i = calls.size() - 1; i >= 0; i--) {
              calls.get(i).await();
              assertEquals(2 * (i + round), arrays.get(i)[COUNT - 1]);
            }
          }
          calls.forEach(PersistentCall::close);
        });
  }

  @Test
  void mistakesAreToldAndBreakNothing() throws Exception {
    onAllRanks(
        "inprocess",
        2,
        world -> {
          float[] values = new float[COUNT];
          PersistentCall call = world.prepared().allReduce(Payload.of(values), ReduceOp.SUM);
          says("was not started", call::await);
          says("was not started", () -> call.await(Duration.ZERO));
          assertTrue(call.isDone());
          call.start();
          says("await() it first", call::start);
          says("await() it first", call::run);
          call.await();
          says("was not started", call::await);
          Arrays.fill(values, 1);
          call.run();
          assertEquals(2, values[0]);
          call.close();
          call.close();
          says("is closed", call::start);
          says("is closed", call::run);
          CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 10);
          Payload parts = Payload.of(List.of(Payload.of(values), buffer.payload()));
          PersistentCall ofBuffer = world.prepared().allReduce(parts, ReduceOp.SUM);
          ofBuffer.run();
          assertEquals(4, values[0]);
          buffer.close();
          says("prepare it with another", ofBuffer::start);
          ofBuffer.close();
          assertThrows(
              IllegalArgumentException.class,
              () -> world.prepared().broadcast(Payload.of(values), 2));
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  world
                      .prepared()
                      .reduceScatter(Payload.of(values), Payload.of(new float[1]), ReduceOp.SUM));
          world.barrier();
        });
  }

  private static void says(String what, Runnable call) {
    String message = assertThrows(IllegalStateException.class, call::run).getMessage();
    assertTrue(message.contains(what), message);
  }

  /** A rank that closes its call waits for the result, which others need it for. */
  @Test
  void closingWaitsForWhatIsStarted() throws Exception {
    onAllRanks(
        "inprocess",
        2,
        world -> {
          float[] values = {world.rank() + 1};
          try (PersistentCall call = world.prepared().allReduce(Payload.of(values), ReduceOp.SUM)) {
            call.start();
          }
          assertEquals(3, values[0]);
        });
  }

  /** Every start fails after the first one that has, and so does one of a group that is closed. */
  @Test
  void failuresAreToldByEachStart() throws Exception {
    onAllRanks(
        "inprocess",
        2,
        world -> {
          Communicator broken = world.group(0, 1);
          Communicator closed = world.group(0, 1);
          float[] values = new float[COUNT];
          int count = COUNT - world.rank();
          try (PersistentCall wrong =
                  broken.prepared().allReduce(Payload.of(values, 0, count), ReduceOp.SUM);
              PersistentCall right = broken.prepared().barrier();
              PersistentCall late = closed.prepared().barrier();
              PersistentCall aborted = world.prepared().barrier()) {
            wrong.start();
            assertThrows(MismatchException.class, wrong::await);
            assertThrows(MismatchException.class, wrong::start);
            assertThrows(MismatchException.class, wrong::run);
            assertThrows(MismatchException.class, right::run);
            assertThrows(CollectiveException.class, right::start);
            late.run();
            closed.close();
            late.start();
            assertThrows(CommunicatorClosedException.class, late::await);
            if (world.rank() == 0) {
              world.abort("enough");
            }
            AbortedException error = assertThrows(AbortedException.class, aborted::run);
            assertEquals(0, error.worldRank());
          }
        });
  }

  @Test
  void aCheckTellsOfTheStartThatItIsAbout() throws Exception {
    onAllRanks(
        "inprocess",
        2,
        world -> {
          float[] values = new float[COUNT];
          try (PersistentCall call =
              world.checkingFinite().prepared().allReduce(Payload.of(values), ReduceOp.SUM)) {
            for (int round = 0; round < 6; round++) {
              Arrays.fill(values, round);
              int index = 100 * round;
              values[index] = round % 2 == 0 || world.rank() == 0 ? round : Float.NaN;
              boolean started = round % 3 == 0;
              Runnable end = call::run;
              if (started) {
                call.start();
                end = call::await;
              }
              if (round % 2 == 0) {
                end.run();
              } else {
                NonFiniteException found = assertThrows(NonFiniteException.class, end::run);
                assertEquals(1, found.worldRank());
                assertEquals(index, found.index());
              }
              assertEquals(2f * round, values[COUNT - 1]);
              assertTrue(call.isDone());
            }
          }
        });
  }
}
