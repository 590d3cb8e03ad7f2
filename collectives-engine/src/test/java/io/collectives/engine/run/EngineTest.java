package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallTimeoutException;
import io.collectives.Collective;
import io.collectives.CollectiveException;
import io.collectives.Mesh;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ProtocolException;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.testkit.ForwardingLink;
import io.collectives.testkit.ForwardingTransport;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Engines on one thread, in an order and at times that the test decides. */
@Tag("once")
class EngineTest {

  /**
   * Whatever the order in which ranks enter calls and are polled, sums are right and no call hangs.
   */
  @ParameterizedTest
  @ValueSource(strings = {"ring", "bidirectional", "torus", "direct", "exchange"})
  void anyScheduleSums(String name) {
    for (long seed = 0; seed < 60; seed++) {
      Random random = new Random(seed);
      int ranks = 1 + random.nextInt(7);
      Algorithm algorithm =
          switch (name) {
            case "ring" -> Algorithm.ring();
            case "bidirectional" -> Algorithm.bidirectionalRing();
            case "torus" -> Algorithm.torus(Mesh.torusOf(ranks));
            case "exchange" -> Algorithm.exchange();
            default -> Algorithm.direct();
          };
      Bench bench = new Bench(ranks, algorithm);
      bench.slabsInFlight = 1 + random.nextInt(3);
      int calls = 1 + random.nextInt(2 * Calls.IN_FLIGHT);
      int count = random.nextInt(500);
      int[][][] values = new int[ranks][calls][count];
      List<List<Call>> made = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        made.add(new ArrayList<>());
        for (int call = 0; call < calls; call++) {
          int value = (rank + 1) * (call + 1);
          Arrays.setAll(values[rank][call], i -> value + i);
        }
      }
      for (int left = ranks * calls; left > 0; ) {
        int rank = random.nextInt(ranks);
        if (random.nextInt(4) == 0 && made.get(rank).size() < calls) {
          made.get(rank).add(bench.sum(rank, values[rank][made.get(rank).size()]));
          left--;
        } else {
          bench.engines.get(rank).poll();
        }
      }
      bench.settle();
      for (int rank = 0; rank < ranks; rank++) {
        for (int call = 0; call < calls; call++) {
          assertTrue(made.get(rank).get(call).isDone(), "seed " + seed);
          assertNull(made.get(rank).get(call).error(), "seed " + seed);
          int sum = ranks * (ranks + 1) / 2 * (call + 1);
          int[] expected = IntStream.range(0, count).map(i -> sum + ranks * i).toArray();
          assertArrayEquals(
              expected, values[rank][call], "seed " + seed + ", rank " + rank + ", call " + call);
        }
      }
    }
  }

  @Test
  void outOfPlaceLeavesTheInputAlone() {
    for (int ranks = 1; ranks <= 5; ranks++) {
      for (Algorithm algorithm :
          List.of(Algorithm.ring(), Algorithm.direct(), Algorithm.torus(Mesh.torusOf(ranks)))) {
        Bench bench = new Bench(ranks, algorithm);
        double[][] in = new double[ranks][101];
        double[][] out = new double[ranks][101];
        for (int rank = 0; rank < ranks; rank++) {
          Arrays.fill(in[rank], rank + 1);
          Bench.submit(
              bench.engines.get(rank),
              bench.groups.get(rank),
              bench.programs.get(rank),
              Memories.of(Payload.of(in[rank])),
              Memories.of(Payload.of(out[rank])),
              ReduceOp.AVERAGE,
              64,
              2,
              Bench.SECOND);
        }
        bench.settle();
        for (int rank = 0; rank < ranks; rank++) {
          double[] own = new double[101];
          Arrays.fill(own, rank + 1);
          assertArrayEquals(own, in[rank], algorithm + ": the input");
          double[] average = new double[101];
          Arrays.fill(average, (ranks + 1) / 2.0);
          assertArrayEquals(average, out[rank], algorithm + ": the output");
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 5, 8})
  void theRankThatNeverCameIsNamedByAll(int ranks) {
    for (Algorithm algorithm :
        List.of(Algorithm.ring(), Algorithm.direct(), Algorithm.bidirectionalRing())) {
      for (int absent = 0; absent < ranks; absent++) {
        Bench bench = new Bench(ranks, algorithm);
        Call[] calls = new Call[ranks];
        for (int rank = 0; rank < ranks; rank++) {
          if (rank != absent) {
            calls[rank] = bench.sum(rank, new int[1000]);
            bench.now += 1000;
          }
        }
        bench.settle();
        bench.pass(Bench.SECOND / 2);
        for (int rank = 0; rank < ranks; rank++) {
          assertFalse(rank != absent && calls[rank].isDone(), "before the deadline");
        }
        bench.pass(Bench.SECOND / 2);
        bench.pass(Bench.SECOND / 4);
        for (int rank = 0; rank < ranks; rank++) {
          if (rank != absent) {
            assertTrue(calls[rank].isDone());
            CollectiveException error = calls[rank].error();
            assertInstanceOf(CallTimeoutException.class, error);
            String message = String.valueOf(error.getMessage());
            boolean direct = message.contains(" ms for rank " + absent);
            assertTrue(direct || message.contains("the chain ends at rank " + absent), message);
          }
        }
        Call late = bench.sum(absent, new int[1000]);
        assertTrue(late.isDone(), "the group is broken for the late rank, too");
        assertInstanceOf(CallTimeoutException.class, late.error());
      }
    }
  }

  /** The first call begins alone, so it has all of them. */
  @Test
  void callsShareTheSlabsInFlight() {
    List<CountingTransport> transports = new ArrayList<>();
    Bench bench =
        new Bench(
            2,
            Algorithm.ring(),
            (rank, transport) -> {
              transports.add(new CountingTransport(transport));
              return transports.get(rank);
            });
    bench.slabsInFlight = 4;
    bench.frozen = 1;
    int[] values = new int[20 * 2 * bench.frameLength / Integer.BYTES];
    List<Call> calls = new ArrayList<>();
    for (int slabs : new int[] {4, 2, 1, 1}) {
      long before = transports.get(0).sentTo(1);
      calls.add(bench.sum(0, values.clone()));
      assertEquals(20, calls.get(calls.size() - 1).slabs);
      bench.settle();
      assertEquals((long) slabs * bench.frameLength, transports.get(0).sentTo(1) - before);
    }
    bench.frozen = -1;
    for (int i = 0; i < 4; i++) {
      calls.add(bench.sum(1, values.clone()));
    }
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertNull(call.error());
    }
  }

  @Test
  void aRankThatLeavesAfterItsLastCallHarmsNobody() {
    Bench bench = new Bench(4, Algorithm.direct());
    Call[] calls = new Call[4];
    for (int rank = 0; rank < 4; rank++) {
      calls[rank] = bench.sum(rank, new int[1000]);
    }
    while (!calls[0].isDone()) {
      bench.engines.forEach(Engine::poll);
    }
    bench.engines.get(0).leave(bench.groups.get(0));
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertNull(call.error());
    }
    Call next = bench.sum(2, new int[1000]);
    bench.settle();
    assertTrue(next.isDone(), "a call that needs the rank fails at once");
    RankFailedException error = assertInstanceOf(RankFailedException.class, next.error());
    assertEquals(0, error.worldRank());
  }

  /**
   * A rank that is late makes its last call when others have left, and ends it if they have done
   * their part.
   */
  @ParameterizedTest
  @EnumSource(Collective.class)
  void aRankThatIsLateForTheLastCallNeedsNobodyWhoHasDoneIt(Collective collective) {
    for (Algorithm algorithm : List.of(Algorithm.ring(), Algorithm.direct())) {
      for (int late = 0; late < 4; late++) {
        for (boolean ofTheJob : new boolean[] {true, false}) {
          String where = collective + " by " + algorithm + ", late: " + late;
          Bench bench = met(4);
          Call[] calls = new Call[4];
          boolean[] left = new boolean[4];
          for (int rank = 0; rank < 4; rank++) {
            calls[rank] = rank == late ? null : last(bench, rank, algorithm, collective);
          }
          leaveWhenDone(bench, calls, left, ofTheJob);
          calls[late] = last(bench, late, algorithm, collective);
          leaveWhenDone(bench, calls, left, ofTheJob);
          for (int rank = 0; rank < 4; rank++) {
            assertTrue(left[rank], where + ", waits: " + rank);
            assertNull(calls[rank].error(), where);
          }
        }
      }
    }
  }

  private static Call last(Bench bench, int rank, Algorithm algorithm, Collective collective) {
    Program program =
        ProgramCompiler.compile(algorithm, Bench.plan(algorithm, collective, 4), rank);
    Memory memory = Memories.of(Payload.of(new int[64]));
    Memory part = Memories.of(Payload.of(new int[16]));
    boolean partIn = collective == Collective.ALL_GATHER || collective == Collective.GATHER;
    boolean partOut = collective == Collective.REDUCE_SCATTER || collective == Collective.SCATTER;
    return bench.submit(
        rank,
        bench.groups.get(rank),
        program,
        partIn ? part : memory,
        partOut ? part : memory,
        ReduceOp.SUM);
  }

  private static void leaveWhenDone(Bench bench, Call[] calls, boolean[] left, boolean ofTheJob) {
    for (int rounds = 0; rounds < 100; rounds++) {
      for (int rank = 0; rank < calls.length; rank++) {
        bench.engines.get(rank).poll();
        if (calls[rank] != null && calls[rank].isDone() && !left[rank]) {
          left[rank] = true;
          bench.engines.get(rank).leave(bench.groups.get(rank));
          if (ofTheJob) {
            bench.engines.get(rank).close();
            bench.transports.get(rank).close();
          }
        }
      }
    }
  }

  /** The bits that count which calls have ended are as many as calls may be ahead. */
  @Test
  void noCallIsFarAheadOfOneThatHasNotEnded() {
    boolean[] open = new boolean[1];
    Bench bench =
        new Bench(
            2,
            Algorithm.direct(),
            (rank, transport) ->
                new ForwardingTransport(transport) {
                  @Override
                  public Link link(int peer) {
                    return new ForwardingLink(inner.link(peer)) {
                      @Override
                      public boolean trySend(FrameHeader header, FrameBody body) {
                        return (open[0] || header.sequence > 0) && super.trySend(header, body);
                      }
                    };
                  }
                });
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < 3 * Calls.WINDOW; i++) {
      bench.sum(0, new int[10]);
      calls.add(bench.sum(1, new int[10]));
    }
    bench.settle();
    for (int i = 0; i < calls.size(); i++) {
      assertEquals(i > 0 && i < Calls.WINDOW, calls.get(i).isDone(), "call " + i);
    }
    assertEquals(0, bench.groups.get(1).completed());
    open[0] = true;
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertNull(call.error());
    }
    assertEquals(calls.size(), bench.groups.get(1).completed());
  }

  /** A rank that needs another one in a group that this has left learns of it at once. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoNeedsARankInAGroupThatItHasLeftIsTold(boolean failed) {
    Bench bench = new Bench(2, Algorithm.ring());
    Group[] groups = new Group[2];
    for (int rank = 0; rank < 2; rank++) {
      groups[rank] = new Group(77, new int[] {0, 1}, rank, null);
      bench.engines.get(rank).add(groups[rank]);
    }
    if (failed) {
      bench.engines.get(0).abort(groups[0], "planted");
    }
    bench.engines.get(0).leave(groups[0]);
    bench.settle();
    Memory memory = Memories.of(Payload.of(new int[10]));
    Call call = bench.submit(1, groups[1], bench.programs.get(1), memory, memory, ReduceOp.SUM);
    bench.settle();
    assertTrue(call.isDone());
    if (failed) {
      assertInstanceOf(AbortedException.class, call.error());
    } else {
      assertEquals(0, assertInstanceOf(RankFailedException.class, call.error()).worldRank());
    }
  }

  /** Frames without a body take memory, too. */
  @Test
  void emptyFramesThatAreHeldAreBounded() {
    Bench bench = new Bench(2, Algorithm.ring());
    FrameHeader header = new FrameHeader();
    header.group = 77;
    Link link = bench.transports.get(0).link(1);
    for (int i = 0; i < 100_000; i++) {
      link.trySend(header, FrameBody.EMPTY);
      bench.engines.get(1).poll();
    }
    assertTrue(bench.engines.get(1).held() * (long) HeldFrames.OVERHEAD <= 1 << 20);
    Call call = bench.sum(1, new int[10]);
    assertTrue(call.isDone());
    CollectiveException error = assertInstanceOf(ProtocolException.class, call.error());
    assertTrue(error.getMessage().startsWith("rank 0: more than"), error.getMessage());
  }

  @Test
  void aRankThatLeavesDuringACallIsNamedByAll() {
    Bench bench = new Bench(5, Algorithm.ring());
    Call[] calls = new Call[5];
    for (int rank = 0; rank < 5; rank++) {
      if (rank != 3) {
        calls[rank] = bench.sum(rank, new int[1000]);
      }
    }
    bench.settle();
    // It has never made a call, so it has told nobody; its neighbours hear of it from the
    // transport.
    bench.engines.get(3).crash(new IllegalStateException("planted"));
    bench.settle();
    Call own = bench.sum(3, new int[1000]);
    bench.settle();
    calls[3] = own;
    bench.pass(2 * Bench.SECOND);
    bench.pass(Bench.SECOND);
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertNotNull(call.error());
    }
  }

  @Test
  void aRankThatLeavesTellsThoseWhoWaitAtOnce() {
    Bench bench = met(3);
    Call[] calls = {bench.sum(0, new int[1000]), bench.sum(1, new int[1000])};
    bench.settle();
    bench.engines.get(2).leave(bench.groups.get(2));
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertEquals(2, assertInstanceOf(RankFailedException.class, call.error()).worldRank());
    }
  }

  @Test
  void framesThatComeBeforeTheGroupIsMadeAreNotLost() {
    Bench bench = new Bench(2, Algorithm.ring());
    int[][] values = {{1}, {2}};
    Call[] calls = new Call[2];
    for (int rank = 0; rank < 2; rank++) {
      Group group = new Group(77, new int[] {1, 0}, 1 - rank, null);
      bench.engines.get(rank).add(group);
      Memory memory = Memories.of(Payload.of(values[rank]));
      Program program = Bench.program(Algorithm.ring(), Collective.ALL_REDUCE, 2, 1 - rank);
      calls[rank] =
          Bench.submit(
              bench.engines.get(rank),
              group,
              program,
              memory,
              memory,
              ReduceOp.SUM,
              64,
              2,
              Bench.SECOND);
      bench.settle();
      assertEquals(rank == 1, calls[rank].isDone());
    }
    bench.settle();
    assertArrayEquals(new int[] {3}, values[0]);
    assertArrayEquals(new int[] {3}, values[1]);
    assertTrue(calls[0].isDone());
  }

  @Test
  void ranksThatAreToldBeforeTheyCallTellThoseWhoWaitForThem() {
    Bench bench = new Bench(6, Algorithm.ring());
    Call[] calls = new Call[6];
    Program other = Bench.program(Algorithm.torus(Mesh.torus(3, 2)), Collective.ALL_REDUCE, 6, 2);
    Memory memory = Memories.of(Payload.of(new int[1000]));
    calls[2] = bench.submit(2, other, memory, ReduceOp.SUM);
    calls[1] = bench.sum(1, new int[1000]);
    // Rank 2 finds that rank 1 differs, and tells its neighbours on the torus; some have not
    // called.
    bench.settle();
    for (int rank : new int[] {3, 4, 5, 0}) {
      calls[rank] = bench.sum(rank, new int[1000]);
      bench.settle();
    }
    for (int rank = 0; rank < 6; rank++) {
      assertTrue(calls[rank].isDone(), "rank " + rank + " waits");
      assertInstanceOf(MismatchException.class, calls[rank].error());
    }
  }

  @Test
  void ranksThatAreToldAndLeaveStillSayWhy() {
    Bench bench = new Bench(4, Algorithm.ring());
    bench.sum(0, new int[1000]);
    bench.settle();
    bench.engines.get(0).abort(bench.groups.get(0), "planted");
    bench.settle();
    for (int rank : new int[] {0, 1, 3}) {
      bench.engines.get(rank).leave(bench.groups.get(rank));
    }
    bench.settle();
    // Nobody has had a reason to tell rank 2.
    Call late = bench.sum(2, new int[1000]);
    bench.settle();
    assertTrue(late.isDone());
    assertInstanceOf(AbortedException.class, late.error());
  }

  @Test
  void allThatIsToldBeforeTheGroupIsMadeIsKept() {
    Bench bench = new Bench(3, Algorithm.direct());
    Call[] calls = new Call[3];
    for (int rank = 0; rank < 3; rank++) {
      if (rank == 2) {
        // The others say first whom they wait for, and then that they wait no more.
        bench.pass(2 * Bench.SECOND);
        bench.pass(Bench.SECOND);
      }
      Group group = new Group(77, new int[] {0, 1, 2}, rank, null);
      bench.engines.get(rank).add(group);
      Memory memory = Memories.of(Payload.of(new int[1000]));
      calls[rank] =
          bench.submit(rank, group, bench.programs.get(rank), memory, memory, ReduceOp.SUM);
      bench.settle();
      assertEquals(rank == 2, calls[rank].isDone(), "rank " + rank);
    }
    for (Call call : calls) {
      assertEquals(
          2, assertInstanceOf(CallTimeoutException.class, call.error()).worldRank(), call + "");
    }
  }

  @Test
  void moreEarlyFramesThanMayBeHeldAreAnErrorNotALoss() {
    // Of a transport that shares no memory; views take none.
    Bench bench =
        new Bench(2, Algorithm.ring(), (rank, transport) -> new ForwardingTransport(transport) {});
    Group group = new Group(77, new int[] {0, 1}, 0, null);
    bench.engines.get(0).add(group);
    Memory memory = Memories.of(Payload.of(new int[1 << 20]));
    Program program = bench.programs.get(0);
    // Two frames of a mebibyte each, which is all that rank 1 may hold.
    Bench.submit(
        bench.engines.get(0),
        group,
        program,
        memory,
        memory,
        ReduceOp.SUM,
        1 << 20,
        2,
        Bench.SECOND);
    bench.settle();
    Call call = bench.sum(1, new int[10]);
    assertTrue(call.isDone());
    CollectiveException error = assertInstanceOf(ProtocolException.class, call.error());
    assertTrue(error.getMessage().contains("wait for their turn"), error.getMessage());
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 5})
  void aFrozenRankIsNamedByAllAfterTheLimitOfSilence(int ranks) {
    for (int frozen = 0; frozen < ranks; frozen++) {
      Bench bench = met(ranks);
      bench.frozen = frozen;
      Call[] calls = new Call[ranks];
      for (int rank = 0; rank < ranks; rank++) {
        if (rank != frozen) {
          calls[rank] = bench.sum(rank, new int[1000]);
        }
      }
      long began = bench.now;
      while (bench.now - began < Bench.SILENCE - Bench.SECOND) {
        bench.pass(Bench.SECOND / 4);
      }
      for (int rank = 0; rank < ranks; rank++) {
        assertFalse(rank != frozen && calls[rank].isDone(), "before the limit");
      }
      while (bench.now - began < Bench.SILENCE + Bench.SECOND) {
        bench.pass(Bench.SECOND / 4);
      }
      for (int rank = 0; rank < ranks; rank++) {
        if (rank != frozen) {
          assertTrue(calls[rank].isDone(), "rank " + rank);
          RankFailedException error =
              assertInstanceOf(RankFailedException.class, calls[rank].error());
          assertEquals(frozen, error.worldRank());
          assertTrue(error.getMessage().contains("no sign of life"), error.getMessage());
        }
      }
    }
  }

  /**
   * A rank is watched as soon as a plan needs it, though nothing has gone to it or come from it.
   */
  @Test
  void aRankThatNeverSpokeIsGivenUpAfterTheLimitOfSilence() {
    Bench bench = new Bench(3, Algorithm.halvingDoubling());
    bench.timeoutNanos = 60 * Bench.SECOND;
    bench.frozen = 2;
    Call[] calls = {bench.sum(0, new int[10]), bench.sum(1, new int[10])};
    for (int i = 0; i < 23; i++) {
      bench.pass(Bench.SECOND / 4);
    }
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertEquals(2, assertInstanceOf(RankFailedException.class, call.error()).worldRank());
    }
  }

  @Test
  void aRankThatIsFrozenBetweenCallsFailsTheNextOneAtOnce() {
    Bench bench = met(3);
    bench.frozen = 1;
    for (int i = 0; i < 24; i++) {
      bench.pass(Bench.SECOND / 4);
    }
    Call call = bench.sum(2, new int[10]);
    bench.settle();
    assertTrue(call.isDone());
    assertEquals(1, assertInstanceOf(RankFailedException.class, call.error()).worldRank());
  }

  /** All ranks of a group must fail alike, so a call of it does not even begin. */
  @Test
  void aCallThatDoesNotNeedTheRankThatIsLostFailsToo() {
    Bench bench = new Bench(4, Algorithm.direct());
    for (int rank = 0; rank < 4; rank++) {
      bench.sum(rank, new int[10]);
    }
    bench.settle();
    bench.frozen = 3;
    for (int i = 0; i < 24; i++) {
      bench.pass(Bench.SECOND / 4);
    }
    Program tree = Bench.program(Algorithm.binomialTree(), Collective.ALL_REDUCE, 4, 1);
    assertArrayEquals(new int[] {0}, tree.peers);
    Call call = bench.submit(1, tree, Memories.of(Payload.of(new int[10])), ReduceOp.SUM);
    bench.settle();
    assertTrue(call.isDone());
    assertEquals(3, assertInstanceOf(RankFailedException.class, call.error()).worldRank());
  }

  @Test
  void aRankThatIsLateButBeatsIsNotGivenUp() {
    Bench bench = met(3);
    Call early = bench.sum(0, new int[10]);
    bench.sum(2, new int[10]);
    for (int i = 0; i < 100; i++) {
      bench.pass(Bench.SECOND / 2);
    }
    assertFalse(early.isDone());
    bench.sum(1, new int[10]);
    bench.settle();
    assertTrue(early.isDone());
    assertNull(early.error());
  }

  /**
   * If nothing passes between two ranks that both live, and none can find out that the other does,
   * they do not blame each other: all name the higher one, whenever they have last heard of each
   * other.
   */
  @Test
  void ofTwoRanksThatDoNotHearEachOtherTheHigherOneIsNamedByAll() {
    for (long seed = 0; seed < 40; seed++) {
      Random random = new Random(seed);
      int ranks = 3 + random.nextInt(3);
      int lower = random.nextInt(ranks - 1);
      int higher = lower + 1 + random.nextInt(ranks - lower - 1);
      boolean[] cut = {false};
      Bench bench =
          new Bench(
              ranks,
              Algorithm.direct(),
              (rank, transport) -> lossy(transport, rank, lower, higher, cut));
      bench.timeoutNanos = 60 * Bench.SECOND;
      for (int rank = 0; rank < ranks; rank++) {
        bench.sum(rank, new int[ranks]);
      }
      bench.settle();
      long step = Bench.SILENCE / 64;
      for (int i = random.nextInt(20); i > 0; i--) {
        bench.pass(random.nextInt((int) step));
      }
      cut[0] = true;
      Call[] calls = new Call[ranks];
      for (int rank = 0; rank < ranks; rank++) {
        bench.pass(random.nextInt((int) step));
        calls[rank] = bench.sum(rank, new int[ranks]);
      }
      for (long passed = 0; passed < Bench.SILENCE * 5 / 4; passed += step) {
        bench.pass(step);
      }
      for (Call call : calls) {
        RankFailedException error = assertInstanceOf(RankFailedException.class, call.error());
        assertEquals(higher, error.worldRank(), "seed " + seed);
      }
    }
  }

  @Test
  void aRankThatWasItselfStoppedBlamesNobody() {
    Bench bench = met(3);
    for (int i = 0; i < 5; i++) {
      bench.pass(10 * Bench.SECOND);
    }
    Call[] calls = {
      bench.sum(0, new int[10]), bench.sum(1, new int[10]), bench.sum(2, new int[10])
    };
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertNull(call.error());
    }
  }

  /** Every rank that waits warns of the one that keeps them all waiting, and of nobody else. */
  @ParameterizedTest
  @ValueSource(ints = {2, 3, 5})
  void aRankThatLagsIsNamedByAllWhoWait(int ranks) {
    for (int absent = 0; absent < ranks; absent++) {
      Bench bench = met(ranks);
      for (int rank = 0; rank < ranks; rank++) {
        if (rank != absent) {
          bench.sum(rank, new int[100]);
          bench.sum(rank, new int[100]);
        }
      }
      bench.pass(Bench.SECOND * 19 / 10);
      assertEquals(List.of(), bench.warnings, "before two seconds");
      bench.pass(Bench.SECOND / 10);
      bench.pass(Bench.SECOND);
      assertEquals(ranks - 1, bench.warnings.size(), bench.warnings::toString);
      for (String warning : bench.warnings) {
        assertTrue(warning.startsWith("rank " + absent + " lags: all-reduce #1"), warning);
      }
      bench.pass(Bench.SECOND);
      assertEquals(ranks - 1, bench.warnings.size(), "once is enough for a while");
    }
  }

  /**
   * Ranks of a busy machine: one is not run for a while, just when others ask whom it waits for.
   */
  @Test
  void aRankThatAnswersLateIsNotNamed() {
    Bench bench = met(3);
    bench.sum(1, new int[100]);
    bench.sum(2, new int[100]);
    bench.pass(Bench.SECOND);
    bench.frozen = 1;
    bench.pass(Bench.SECOND * 11 / 10);
    bench.pass(Bench.SECOND * 6 / 10);
    bench.frozen = -1;
    for (int i = 0; i < 40; i++) {
      bench.pass(Bench.SECOND / 10);
    }
    assertEquals(2, bench.warnings.size(), bench.warnings::toString);
    for (String warning : bench.warnings) {
      assertTrue(warning.startsWith("rank 0 lags: "), warning);
    }
  }

  /** A slow job is no job in which somebody lags: its calls end, one after the other. */
  @Test
  void nobodyIsNamedWhileCallsEnd() {
    Bench bench = met(2);
    for (int i = 0; i < 5; i++) {
      bench.sum(0, new int[100]);
    }
    bench.pass(Bench.SECOND * 21 / 10);
    for (int i = 0; i < 5; i++) {
      bench.sum(1, new int[100]);
      bench.settle();
      bench.pass(Bench.SECOND * 9 / 10);
    }
    assertEquals(List.of(), bench.warnings);
  }

  /** Each of two ranks waits for the other where the bytes of a call are on their way for long. */
  @Test
  void nobodyIsNamedWhereAllWaitForEachOther() {
    boolean[] held = {false};
    Bench bench = new Bench(2, Algorithm.ring(), (rank, transport) -> holding(transport, held));
    bench.timeoutNanos = 60 * Bench.SECOND;
    for (int call = 0; call < 2; call++) {
      bench.sum(0, new int[100]);
      bench.sum(1, new int[100]);
      bench.settle();
      held[0] = true;
    }
    for (int i = 0; i < 40; i++) {
      bench.pass(Bench.SECOND / 10);
    }
    assertEquals(List.of(), bench.warnings);
    held[0] = false;
    bench.settle();
    assertEquals(2, bench.groups.get(0).completed());
  }

  /** Takes no data while they are held. */
  private static Transport holding(Transport inner, boolean[] held) {
    return new ForwardingTransport(inner) {
      @Override
      public Link link(int peer) {
        return new ForwardingLink(inner.link(peer)) {
          @Override
          public boolean trySend(FrameHeader header, FrameBody body) {
            return !(held[0] && header.kind == FrameHeader.Kind.DATA)
                && inner.trySend(header, body);
          }
        };
      }
    };
  }

  /** A user who sets a limit of hours expects to wait. */
  @Test
  void aCallThatMayTakeLongWarnsLater() {
    Bench bench = met(2);
    bench.timeoutNanos = 4000 * Bench.SECOND;
    bench.sum(0, new int[100]);
    for (int i = 0; i < 39; i++) {
      bench.pass(Bench.SECOND / 10);
    }
    assertEquals(List.of(), bench.warnings, "before a thousandth of the limit");
    bench.pass(Bench.SECOND / 10);
    bench.pass(Bench.SECOND);
    assertEquals(1, bench.warnings.size(), bench.warnings::toString);
  }

  /** Data read from memory that its user may have written over are never part of a result. */
  @Test
  void memoryOfAFailedCallSpoilsTheReadersCall() {
    for (Algorithm algorithm : List.of(Algorithm.ring(), Algorithm.direct())) {
      Bench bench = new Bench(3, algorithm);
      Call first = bench.sum(0, new int[8]);
      Call third = bench.sum(2, new int[8]);
      // Rank 1 has not called: the frames of the others are views of their memory, which it holds.
      bench.settle();
      bench.engines.get(0).abort(bench.groups.get(0), "planted");
      assertFalse(first.isDone(), "the others may know more");
      nobodyAnswers(bench, 0);
      assertTrue(first.isDone());
      Call second = bench.sum(1, new int[8]);
      bench.engines.get(1).poll();
      bench.settle();
      assertInstanceOf(AbortedException.class, second.error());
      assertInstanceOf(AbortedException.class, third.error());
    }
  }

  /** The time passes for which a rank asks the others why the group is broken. */
  private static void nobodyAnswers(Bench bench, int rank) {
    bench.now += Verdict.LIMIT_NANOS;
    bench.engines.get(rank).poll();
  }

  /** A rank puts a sum into the memory of others only while their calls are under way. */
  @Test
  void memoryOfAFailedCallIsNotWritten() {
    Bench bench = new Bench(2, Algorithm.direct());
    int[] values = {1, 2, 3, 4};
    Call first = bench.sum(0, values);
    Call second = bench.sum(1, new int[] {10, 20, 30, 40});
    // Rank 1 has not polled since, so it has not seen what rank 0 sent it.
    bench.engines.get(0).abort(bench.groups.get(0), "planted");
    nobodyAnswers(bench, 0);
    assertTrue(first.isDone());
    Arrays.fill(values, 99);
    bench.settle();
    assertInstanceOf(AbortedException.class, second.error());
    assertArrayEquals(new int[] {99, 99, 99, 99}, values);
  }

  /** Each rank sums what all have sent it in the order of ranks, its own in its place. */
  @Test
  void anExchangeSumsInTheOrderOfRanks() {
    Random random = new Random(5);
    int ranks = 6;
    Bench bench = new Bench(ranks, Algorithm.exchange());
    float[][] values = new float[ranks][100];
    float[] expected = new float[100];
    for (int rank = 0; rank < ranks; rank++) {
      for (int i = 0; i < 100; i++) {
        values[rank][i] = (float) (random.nextGaussian() * Math.exp(4 * random.nextGaussian()));
        expected[i] = rank == 0 ? values[0][i] : expected[i] + values[rank][i];
      }
    }
    for (int rank = ranks - 1; rank >= 0; rank--) {
      Memory memory = Memories.of(Payload.of(values[rank]));
      bench.submit(rank, bench.programs.get(rank), memory, ReduceOp.SUM);
    }
    bench.settle();
    for (float[] sum : values) {
      assertArrayEquals(expected, sum);
    }
  }

  /** Calls that wait for their turn end with their group. */
  @Test
  void aFailureEndsTheCallsThatWaitForTheirTurn() {
    Bench bench = new Bench(2, Algorithm.ring());
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < 4 * Calls.IN_FLIGHT; i++) {
      calls.add(bench.sum(0, new int[10]));
    }
    bench.settle();
    bench.engines.get(0).abort(bench.groups.get(0), "planted");
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertInstanceOf(AbortedException.class, call.error());
    }
  }

  /** However many fail at once, and wherever that is seen first, all give the same reason. */
  @Test
  void allTellTheSameOfSeveralFailures() {
    for (long seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      int ranks = 3 + random.nextInt(5);
      Bench bench = new Bench(ranks, Algorithm.direct());
      List<Call> calls = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        calls.add(bench.sum(rank, new int[1000]));
      }
      for (int polls = random.nextInt(3 * ranks); polls > 0; polls--) {
        bench.engines.get(random.nextInt(ranks)).poll();
      }
      int failing = 2 + random.nextInt(ranks - 1);
      for (int rank = 0; rank < failing; rank++) {
        bench.engines.get(rank).abort(bench.groups.get(rank), "planted at " + rank);
        if (random.nextBoolean()) {
          bench.engines.get(random.nextInt(ranks)).poll();
        }
      }
      for (int polls = 50 * ranks; polls > 0; polls--) {
        bench.engines.get(random.nextInt(ranks)).poll();
      }
      bench.settle();
      Set<String> reasons = new TreeSet<>();
      for (Call call : calls) {
        assertTrue(call.isDone(), "seed " + seed);
        reasons.add(call.error() == null ? "none" : call.error().getMessage());
      }
      reasons.remove("none"); // It had ended before.
      assertEquals(1, reasons.size(), "seed " + seed + ": " + reasons);
    }
  }

  /** An error in the middle of a call ends it on every rank, and breaks no other group. */
  @Test
  void anErrorWhileSummingAbortsThatGroupOnly() {
    Bench bench = new Bench(3, Algorithm.ring());
    List<Group> others = new ArrayList<>();
    for (int rank = 0; rank < 3; rank++) {
      others.add(new Group(99, new int[] {0, 1, 2}, rank, null));
      bench.engines.get(rank).add(others.get(rank));
    }
    List<Call> calls = new ArrayList<>();
    for (int rank = 0; rank < 3; rank++) {
      IntBuffer buffer =
          ByteBuffer.allocateDirect(1200).order(ByteOrder.nativeOrder()).asIntBuffer();
      Memory memory = Memories.of(Payload.of(rank == 1 ? buffer.asReadOnlyBuffer() : buffer));
      calls.add(bench.submit(rank, bench.programs.get(rank), memory, ReduceOp.SUM));
    }
    bench.settle();
    for (Call call : calls) {
      AbortedException error = assertInstanceOf(AbortedException.class, call.error());
      assertEquals(1, error.worldRank());
    }
    assertNotNull(calls.get(1).error().getCause(), "where it happened the cause is told");
    for (int rank = 0; rank < 3; rank++) {
      Memory memory = Memories.of(Payload.of(new int[3]));
      calls.add(
          Bench.submit(
              bench.engines.get(rank),
              others.get(rank),
              bench.programs.get(rank),
              memory,
              memory,
              ReduceOp.SUM,
              64,
              2,
              Bench.SECOND));
    }
    bench.settle();
    for (Call call : calls.subList(3, 6)) {
      assertTrue(call.isDone());
      assertNull(call.error());
    }
  }

  /** The record tells of calls that are over, failed and under way, and for whom they wait. */
  @Test
  void theFlightRecordTellsWhatHappened() {
    Bench bench = met(3);
    bench.sum(0, new int[10]);
    bench.sum(1, new int[10]);
    bench.pass(Bench.SECOND);
    String[] lines = bench.engines.get(1).flightRecord().split("\n");
    assertEquals(4, lines.length, String.join("\n", lines));
    assertTrue(lines[0].startsWith("# flight record of rank 1 of 3"), lines[0]);
    assertTrue(lines[1].startsWith("rank\tgroup\tmembers\tsequence\tcollective"), lines[1]);
    assertTrue(
        lines[2].contains("\t0,1,2\t0\tall-reduce\tring\tsum\tint32\t10\t40\tdone\t"), lines[2]);
    assertTrue(lines[3].contains("\t1\tall-reduce\tring\tsum\tint32\t10\t40\trunning\t"), lines[3]);
    assertTrue(lines[3].matches(".*waited 1000 ms for rank ([02]) .*\t\\1\t"), lines[3]);
    bench.engines.get(0).abort(bench.groups.get(0), "planted\there");
    bench.settle();
    lines = bench.engines.get(1).flightRecord().split("\n");
    assertTrue(lines[3].contains("\tfailed\t"), lines[3]);
    assertTrue(lines[3].endsWith("planted here\t\t"), lines[3]);
    assertEquals(lines[1].split("\t").length, lines[3].split("\t", -1).length);
    for (int i = 0; i < 2 * FlightRecorder.CALLS; i++) {
      bench.sum(1, new int[10]);
    }
    lines = bench.engines.get(1).flightRecord().split("\n");
    assertTrue(lines.length <= FlightRecorder.CALLS + 2, "it is bounded");
  }

  /** Ranks that have made a call together, and have a minute for the next. */
  private static Bench met(int ranks) {
    Bench bench = new Bench(ranks, Algorithm.ring());
    bench.timeoutNanos = 60 * Bench.SECOND;
    for (int rank = 0; rank < ranks; rank++) {
      bench.sum(rank, new int[10]);
    }
    bench.settle();
    return bench;
  }

  @Test
  void linksAreOpenedToThePeersOfThePlanOnly() {
    int ranks = 6;
    List<Set<Integer>> asked = new ArrayList<>();
    Bench bench =
        new Bench(
            ranks,
            Algorithm.ring(),
            (rank, transport) -> {
              Set<Integer> peers = new TreeSet<>();
              asked.add(peers);
              return new RecordingTransport(transport, peers);
            });
    for (int rank = 0; rank < ranks; rank++) {
      assertEquals(Set.of(), asked.get(rank), "before the first call");
      bench.sum(rank, new int[1000]);
    }
    bench.settle();
    for (int rank = 0; rank < ranks; rank++) {
      // It sends to the right; its left neighbour opens the other link.
      assertEquals(Set.of((rank + 1) % ranks), asked.get(rank));
    }
  }

  /** Running out of memory while a call begins ends it on every rank, as later on. */
  @Test
  void noMemoryAtTheBeginningOfACallAbortsIt() {
    Set<Integer> scarce =
        new TreeSet<>() {
          private boolean thrown;

          @Override
          public boolean add(Integer peer) {
            if (!thrown) {
              thrown = true;
              throw new OutOfMemoryError("planted");
            }
            return super.add(peer);
          }
        };
    Bench bench =
        new Bench(
            3,
            Algorithm.ring(),
            (rank, transport) ->
                new RecordingTransport(transport, rank == 1 ? scarce : new TreeSet<>()));
    Call[] calls = new Call[3];
    for (int rank = 0; rank < 3; rank++) {
      calls[rank] = bench.sum(rank, new int[1000]);
    }
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertEquals(1, assertInstanceOf(AbortedException.class, call.error()).worldRank());
    }
    assertInstanceOf(OutOfMemoryError.class, calls[1].error().getCause());
  }

  /** Lets nothing pass between two ranks once the cable is cut. */
  private static Transport lossy(Transport inner, int rank, int lower, int higher, boolean[] cut) {
    int other = rank == lower ? higher : rank == higher ? lower : -1;
    return new ForwardingTransport(inner) {
      @Override
      public Link link(int peer) {
        Link link = inner.link(peer);
        return peer != other
            ? link
            : new ForwardingLink(link) {
              @Override
              public boolean trySend(FrameHeader header, FrameBody body) {
                if (cut[0]) {
                  body.release();
                  return true;
                }
                return inner.trySend(header, body);
              }
            };
      }
    };
  }

  /** Remembers with whom a rank has linked. */
  private static final class RecordingTransport extends ForwardingTransport {
    private final Set<Integer> peers;

    RecordingTransport(Transport inner, Set<Integer> peers) {
      super(inner);
      this.peers = peers;
    }

    @Override
    public Link link(int peer) {
      peers.add(peer);
      return inner.link(peer);
    }
  }
}
