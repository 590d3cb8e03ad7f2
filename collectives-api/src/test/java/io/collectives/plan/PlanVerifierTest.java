package io.collectives.plan;

import static io.collectives.plan.Effect.REDUCE;
import static io.collectives.plan.Effect.REPLACE;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.PlanFigures.Links;
import io.collectives.plan.PlanFigures.Load;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A catalogue of wrong plans, each with what must be said of it; and right ones, with their
 * figures.
 */
@Tag("once")
class PlanVerifierTest {

  /** The ring of 4 ranks, in which lane 0 has rounds 0 to 2 of REDUCE and 3 to 5 of REPLACE. */
  static Stream<Wrong> wrongPlans() {
    return Stream.of(
        new Wrong(
            "wrong neighbour",
            () -> TablePlan.ring(4).with(2, 2, new Transfer(2, 0, 3, 1, REDUCE)),
            "lane 0, round 2: rank 2 sends chunk 3 to rank 0, which already holds the contribution"
                + " of rank 0"),
        new Wrong(
            "missing round of the reduce-scatter",
            () -> without(TablePlan.ring(4), 1),
            "lane 0, round 2: rank 0 sends chunk 0 to rank 1 as a replacement, but it lacks the"
                + " contribution of rank 1"),
        new Wrong(
            "missing round of the all-gather",
            () -> without(TablePlan.ring(4), 4),
            "lane 0, round 4: rank 0 sends chunk 2 to rank 1 as a replacement, but it lacks the"
                + " contribution of rank 1"),
        new Wrong(
            "missing last round",
            () -> without(TablePlan.ring(4), 5),
            "at the end chunk 1 of rank 0 lacks the contribution of rank 1"),
        new Wrong(
            "missing transfer of the last round",
            () -> {
              TablePlan ring = TablePlan.ring(4);
              ring.round(0, 5).remove(3);
              return ring;
            },
            "at the end chunk 1 of rank 0 lacks the contribution of rank 1"),
        new Wrong(
            "REPLACE for REDUCE",
            () -> TablePlan.ring(4).with(1, 3, new Transfer(3, 0, 1, 1, REPLACE)),
            "lane 0, round 1: rank 3 sends chunk 1 to rank 0 as a replacement, but it lacks the"
                + " contribution of rank 0"),
        new Wrong(
            "REDUCE for REPLACE",
            () -> TablePlan.ring(4).with(3, 0, new Transfer(0, 1, 0, 1, REDUCE)),
            "lane 0, round 3: rank 0 sends chunk 0 to rank 1, which already holds the contribution"
                + " of rank 1"),
        new Wrong(
            "a contribution twice, by the same transfer in the same round",
            () -> TablePlan.ring(4).plus(0, new Transfer(0, 1, 3, 1, REDUCE)),
            "lane 0, round 0: rank 0 sends chunk 3 to rank 1, which already holds the contribution"
                + " of rank 0"),
        new Wrong(
            "a contribution twice, by a second way round",
            () -> TablePlan.ring(4).plus(0, new Transfer(0, 2, 3, 1, REDUCE)),
            "lane 0, round 1: rank 1 sends chunk 3 to rank 2, which already holds the contribution"
                + " of rank 0"),
        new Wrong(
            "a contributor that does not send to a server",
            () -> TablePlan.served(3, 2).without(0, 1, 4),
            "lane 0, round 1: rank 4 sends chunk 1 to rank 0 as a replacement, but it lacks the"
                + " contribution of rank 1"),
        new Wrong(
            "a contributor that a server does not answer",
            () -> TablePlan.served(3, 2).without(1, 3, 2),
            "at the end chunk 0 of rank 2 lacks the contribution of rank 0"),
        new Wrong(
            "a server that sends before it is sent anything",
            () -> TablePlan.served(3, 1).plus(0, new Transfer(3, 0, 0, 1, REDUCE)),
            "lane 0, round 0: rank 3 sends chunk 0 to rank 0, but holds nothing of it"),
        new Wrong(
            "two servers of a chunk",
            () -> {
              TablePlan plan = TablePlan.served(2, 2);
              plan.round(0, 0).add(new Transfer(0, 3, 0, 1, REDUCE));
              plan.round(0, 0).add(new Transfer(1, 3, 0, 1, REDUCE));
              return plan;
            },
            "lane 0, round 0: rank 0 sends chunk 0 to rank 3 to be reduced, but it is complete at"
                + " rank 2 already"),
        new Wrong(
            "nobody contributes",
            () -> TablePlan.served(3, 2).contributedBy(0),
            "all-reduce of 5 ranks, of which 0 contribute: must be from 1 to all"),
        new Wrong(
            "more contributors than ranks",
            () -> TablePlan.served(3, 2).contributedBy(6),
            "all-reduce of 5 ranks, of which 6 contribute: must be from 1 to all"),
        new Wrong(
            "a server in a broadcast",
            () ->
                TablePlan.copyOf(DirectPlans.of(PlanRequest.of(Collective.BROADCAST, 3)))
                    .contributedBy(2),
            "broadcast of 3 ranks, of which 2 contribute: all must, but in an all-reduce"),
        new Wrong(
            "chunk out of range",
            () -> TablePlan.ring(4).with(0, 0, new Transfer(0, 1, 4, 1, REDUCE)),
            "lane 0, round 0: rank 0 sends chunk 4 to rank 1, but chunks are 0 to 3"),
        new Wrong(
            "negative chunk",
            () -> TablePlan.ring(4).with(0, 0, new Transfer(0, 1, -1, 1, REDUCE)),
            "lane 0, round 0: rank 0 sends chunk -1 to rank 1, but chunks are 0 to 3"),
        new Wrong(
            "range that ends beyond the chunks",
            () -> TablePlan.ring(4).with(0, 0, new Transfer(0, 1, 3, 2, REDUCE)),
            "lane 0, round 0: rank 0 sends 2 chunks from chunk 3 on to rank 1, but chunks are 0 to"
                + " 3"),
        new Wrong(
            "range that overflows",
            () -> TablePlan.ring(4).with(0, 0, new Transfer(0, 1, 3, Integer.MAX_VALUE, REDUCE)),
            "lane 0, round 0: rank 0 sends 2147483647 chunks from chunk 3 on to rank 1, but chunks"
                + " are 0 to 3"),
        new Wrong(
            "empty range",
            () -> TablePlan.ring(4).with(0, 0, new Transfer(0, 1, 3, 0, REDUCE)),
            "lane 0, round 0: rank 0 sends 0 chunks from chunk 3 on to rank 1: at least 1 is"
                + " needed"),
        new Wrong(
            "receiver out of range",
            () -> TablePlan.ring(4).with(0, 3, new Transfer(3, 4, 2, 1, REDUCE)),
            "lane 0, round 0: rank 3 sends chunk 2 to rank 4, but ranks are 0 to 3"),
        new Wrong(
            "sender out of range",
            () -> TablePlan.ring(4).with(0, 3, new Transfer(-1, 0, 2, 1, REDUCE)),
            "lane 0, round 0: rank -1 sends chunk 2 to rank 0, but ranks are 0 to 3"),
        new Wrong(
            "send to itself",
            () -> TablePlan.ring(4).with(0, 3, new Transfer(3, 3, 2, 1, REDUCE)),
            "lane 0, round 0: rank 3 sends chunk 2 to rank 3, which is itself"),
        new Wrong(
            "two REPLACEs in a round",
            () -> TablePlan.ring(4).plus(4, new Transfer(1, 2, 0, 1, REPLACE)),
            "lane 0, round 4: rank 1 sends chunk 0 to rank 2, where the round replaces it twice"),
        new Wrong(
            "REDUCE after REPLACE in a round",
            () -> TablePlan.ring(4).plus(4, new Transfer(3, 2, 0, 1, REDUCE)),
            "lane 0, round 4: rank 3 sends chunk 0 to rank 2, where the round both reduces into it"
                + " and replaces it"),
        new Wrong(
            "REPLACE after REDUCE in a round",
            () -> TablePlan.ring(4).plus(2, new Transfer(3, 1, 1, 1, REPLACE)),
            "lane 0, round 2: rank 3 sends chunk 1 to rank 1, where the round both reduces into it"
                + " and replaces it"),
        new Wrong(
            "REDUCE after two REPLACEs in a row would be wrong even if the last were right",
            () ->
                TablePlan.ring(4)
                    .plus(4, new Transfer(3, 2, 0, 1, REDUCE))
                    .plus(4, new Transfer(1, 2, 0, 1, REPLACE)),
            "lane 0, round 4: rank 3 sends chunk 0 to rank 2, where the round both reduces into it"
                + " and replaces it"),
        new Wrong(
            "a chunk in two lanes",
            () -> {
              TablePlan both = TablePlan.twice(TablePlan.ring(4));
              both.round(1, 5).add(new Transfer(0, 1, 1, 1, REPLACE));
              return both;
            },
            "lane 1, round 5: rank 0 sends chunk 1 to rank 1, but the chunk belongs to lane 0"),
        new Wrong(
            "a chunk that no lane moves",
            () -> new TablePlan(Collective.ALL_REDUCE, 4, 5, TablePlan.ring(4).table()),
            "at the end chunk 4 of rank 0 lacks the contribution of rank 1"),
        new Wrong(
            "an incomplete REPLACE, though nobody needs it",
            () -> TablePlan.ring(4).plus(0, new Transfer(0, 2, 1, 1, REPLACE)),
            "lane 0, round 0: rank 0 sends chunk 1 to rank 2 as a replacement, but it lacks the"
                + " contribution of rank 1"),
        new Wrong(
            "what a rank receives in a round is not yet there to be sent on",
            () ->
                new TablePlan(
                    Collective.ALL_REDUCE,
                    3,
                    1,
                    List.of(
                        List.of(
                            List.of(
                                new Transfer(0, 1, 0, 1, REDUCE), new Transfer(1, 2, 0, 1, REDUCE)),
                            List.of(
                                new Transfer(2, 0, 0, 1, REPLACE),
                                new Transfer(2, 1, 0, 1, REPLACE))))),
            "lane 0, round 1: rank 2 sends chunk 0 to rank 0 as a replacement, but it lacks the"
                + " contribution of rank 0"),
        new Wrong(
            "too many frames on a link",
            () -> split(TablePlan.star(2, 5), 5),
            "lane 0, round 0: rank 1 sends chunk 4 to rank 0, frame 5 of the round on this link:"
                + " allowed are 4"),
        new Wrong(
            "two owners of what only the root is to have",
            () -> TablePlan.copyOf(exchanges(Collective.REDUCE)),
            "lane 0, round 0: rank 1 sends chunk 0 to rank 0, which completes it, as rank 1 did: a"
                + " chunk has one owner"),
        new Wrong(
            "an exchange of two chunks at once",
            () ->
                TablePlan.copyOf(
                    Plan.of(
                        Collective.ALL_REDUCE,
                        2,
                        2,
                        Rounds.of(
                            1,
                            (round, sink) -> {
                              sink.transfer(0, 1, 0, 2, REDUCE);
                              sink.transfer(1, 0, 0, 2, REDUCE);
                            }))),
            "lane 0, round 0: rank 1 sends chunk 0 to rank 0, which several ranks complete: none"
                + " may be sent it together with other chunks"),
        new Wrong(
            "no rounds",
            () ->
                TablePlan.copyOf(Plan.of(Collective.ALL_REDUCE, 2, 1, Rounds.of(0, (r, s) -> {}))),
            "at the end chunk 0 of rank 0 lacks the contribution of rank 1"),
        new Wrong(
            "no lanes",
            () -> new TablePlan(Collective.ALL_REDUCE, 2, 1, List.of()),
            "a plan of 2 ranks, 1 chunks and 0 lanes: at least 1 of each is needed"),
        new Wrong(
            "no ranks",
            () -> new TablePlan(Collective.ALL_REDUCE, 0, 1, List.of(List.of())),
            "a plan of 0 ranks, 1 chunks and 1 lanes: at least 1 of each is needed"),
        new Wrong(
            "barrier without its last round",
            () -> without(TablePlan.copyOf(Dissemination.barrier(5)), 2),
            "at the end chunk 0 of rank 0 does not know of rank 1"),
        new Wrong(
            "barrier of more than 64 ranks without its last round",
            () -> without(TablePlan.copyOf(Dissemination.barrier(130)), 7),
            "at the end chunk 0 of rank 0 does not know of rank 1"),
        new Wrong(
            "barrier that forgets the last rank only",
            () -> barrierThatForgets(129),
            "at the end chunk 0 of rank 1 does not know of rank 128"),
        new Wrong(
            "barrier that releases too early",
            () ->
                new TablePlan(
                    Collective.BARRIER,
                    3,
                    1,
                    List.of(
                        List.of(
                            List.of(new Transfer(1, 0, 0, 1, REDUCE)),
                            List.of(new Transfer(0, 1, 0, 1, REPLACE))))),
            "lane 0, round 1: rank 0 sends chunk 0 to rank 1 as a replacement, but it does not know"
                + " of rank 2"),
        new Wrong(
            "barrier of two chunks",
            () -> new TablePlan(Collective.BARRIER, 1, 2, List.of(List.of())),
            "a barrier of 2 chunks: it has 1"));
  }

  /** The direct plans of 4 ranks with root 1, each broken in one way. */
  static Stream<Wrong> wrongPlansOfTheOthers() {
    return Stream.of(
        new Wrong(
            "reduce-scatter whose rank 2 is not sent a contribution",
            () -> direct(Collective.REDUCE_SCATTER).without(0, 3, 2),
            "at the end chunk 2 of rank 2 lacks the contribution of rank 3"),
        new Wrong(
            "reduce-scatter whose parts 0 and 1 are swapped",
            () ->
                direct(Collective.REDUCE_SCATTER)
                    .changed(
                        t ->
                            t.to() > 1
                                ? t
                                : new Transfer(
                                    t.from() < 2 ? t.to() : t.from(),
                                    1 - t.to(),
                                    t.firstChunk(),
                                    1,
                                    REDUCE)),
            "at the end chunk 0 of rank 0 lacks the contribution of rank 1"),
        new Wrong(
            "reduce-scatter that adds a complete part to another rank's",
            () -> direct(Collective.REDUCE_SCATTER).and(List.of(new Transfer(3, 2, 0, 1, REDUCE))),
            "lane 0, round 1: rank 3 sends chunk 0 to rank 2 to be reduced, but it is complete at"
                + " rank 0 already"),
        new Wrong(
            "reduce-scatter in 6 chunks",
            () -> new TablePlan(Collective.REDUCE_SCATTER, 4, 6, List.of(List.of())),
            "reduce-scatter of 4 ranks in 6 chunks: a multiple of 4 is needed, so that each part"
                + " has as many"),
        new Wrong(
            "all-gather that leaves out a rank",
            () -> direct(Collective.ALL_GATHER).without(0, 3, 0),
            "at the end chunk 3 of rank 0 lacks the contribution of rank 3"),
        new Wrong(
            "all-gather in which a rank sends another's part",
            () ->
                direct(Collective.ALL_GATHER)
                    .without(0, 2, 0)
                    .changed(
                        t -> t.from() == 3 && t.to() == 0 ? new Transfer(3, 0, 2, 1, REPLACE) : t),
            "lane 0, round 0: rank 3 sends chunk 2 to rank 0, but holds nothing of it"),
        new Wrong(
            "all-gather that reduces",
            () ->
                direct(Collective.ALL_GATHER)
                    .changed(
                        t -> t.from() == 3 && t.to() == 0 ? new Transfer(3, 0, 3, 1, REDUCE) : t),
            "lane 0, round 0: rank 3 sends chunk 3 to rank 0 to be reduced, but it holds nothing to"
                + " reduce it with"),
        new Wrong(
            "broadcast from another rank",
            () -> direct(Collective.BROADCAST).rootedAt(2),
            "lane 0, round 0: rank 1 sends chunk 2 to rank 2, but holds nothing of it"),
        new Wrong(
            "broadcast that leaves out a rank",
            () -> direct(Collective.BROADCAST).without(1, 0, 3),
            "at the end chunk 0 of rank 3 lacks the contribution of rank 1"),
        new Wrong(
            "reduce to another rank",
            () -> direct(Collective.REDUCE).rootedAt(2),
            "at the end chunk 0 of rank 2 lacks the contribution of rank 0"),
        new Wrong(
            "reduce that counts a rank twice",
            () -> direct(Collective.REDUCE).plus(0, new Transfer(3, 0, 0, 1, REDUCE)),
            "lane 0, round 0: rank 3 sends chunk 0 to rank 0, which already holds the contribution"
                + " of rank 3"),
        new Wrong(
            "reduce whose parts are sent on before they are complete",
            () -> direct(Collective.REDUCE).without(0, 2, 3),
            "lane 0, round 1: rank 3 sends chunk 3 to rank 1 as a replacement, but it lacks the"
                + " contribution of rank 2"),
        new Wrong(
            "gather to another rank",
            () -> direct(Collective.GATHER).rootedAt(0),
            "at the end chunk 1 of rank 0 lacks the contribution of rank 1"),
        new Wrong(
            "gather with a root that is no rank",
            () -> direct(Collective.GATHER).rootedAt(4),
            "gather with root 4, but ranks are 0 to 3"),
        new Wrong(
            "scatter of what the root does not have",
            () -> direct(Collective.SCATTER).rootedAt(0),
            "lane 0, round 0: rank 1 sends chunk 2 to rank 2, but holds nothing of it"),
        new Wrong(
            "scatter that forgets rank 3",
            () -> direct(Collective.SCATTER).without(0, 1, 3),
            "at the end chunk 3 of rank 3 lacks the contribution of rank 1"),
        new Wrong(
            "all-to-all that sends rank 2 what is for rank 3",
            () ->
                direct(Collective.ALL_TO_ALL)
                    .changed(
                        t -> t.from() == 0 && t.to() == 2 ? new Transfer(0, 2, 3, 1, REPLACE) : t),
            "at the end chunk 2 of rank 2 lacks the contribution of rank 0"),
        new Wrong(
            "all-to-all in 8 chunks",
            () -> new TablePlan(Collective.ALL_TO_ALL, 4, 8, List.of(List.of())),
            "all-to-all of 4 ranks in 8 chunks: a multiple of 16 is needed, so that each part has"
                + " as many"),
        new Wrong(
            "all-to-all with a root",
            () -> direct(Collective.ALL_TO_ALL).rootedAt(3),
            "all-to-all with root 3: it has none, which is written as 0"));
  }

  private static TablePlan direct(Collective collective) {
    return TablePlan.copyOf(
        DirectPlans.of(new PlanRequest(collective, 4, collective.rooted() ? 1 : 0)));
  }

  @ParameterizedTest
  @MethodSource("wrongPlansOfTheOthers")
  void rejectsTheOthers(Wrong wrong) {
    rejects(wrong);
  }

  /** A sender that holds nothing must not send, even what nobody needs. */
  @Test
  void rejectsSendersThatHoldNothing() {
    for (int n : new int[] {4, 70}) {
      TablePlan scatter =
          TablePlan.copyOf(DirectPlans.of(PlanRequest.of(Collective.SCATTER, n)))
              .plus(0, new Transfer(2, 3, 1, 1, REPLACE));
      assertEquals(
          "lane 0, round 0: rank 2 sends chunk 1 to rank 3, but holds nothing of it",
          rejection(scatter, 1));
    }
  }

  /** With more than 64 ranks the parts are told apart by their tags. */
  @Test
  void rejectsByTagsWhatIsNotTheRightPart() {
    TablePlan gather = TablePlan.copyOf(DirectPlans.of(PlanRequest.of(Collective.GATHER, 70)));
    assertEquals(
        "at the end chunk 3 of rank 0 does not hold every contribution exactly once (sums of tags,"
            + " seed 2)",
        rejection(gather.without(0, 3, 0), 2));
    TablePlan scatter =
        TablePlan.copyOf(DirectPlans.of(PlanRequest.of(Collective.REDUCE_SCATTER, 70)));
    assertEquals(
        "at the end chunk 5 of rank 5 does not hold every contribution exactly once (sums of tags,"
            + " seed 3)",
        rejection(scatter.without(0, 69, 5), 3));
  }

  @Test
  void onAMeshTransfersGoOverItsLinksOnly() {
    Mesh line = new Mesh(4, 2, false, true);
    assertEquals("", onMesh(line, 0, 1));
    assertEquals("", onMesh(line, 6, 5));
    assertTrue(onMesh(line, 5, 7).contains("no such link"), "neighbours only");
    assertEquals("", onMesh(line, 1, 5));
    assertEquals(
        "lane 0, round 0: rank 0 sends chunk 0 to rank 3: mesh 4x2 wrap=y has no such link from"
            + " column 0, row 0 to column 3, row 0",
        onMesh(line, 0, 3));
    assertEquals(
        "lane 0, round 0: rank 0 sends chunk 0 to rank 5: mesh 4x2 wrap=y has no such link from"
            + " column 0, row 0 to column 1, row 1",
        onMesh(line, 0, 5));

    assertEquals("", onMesh(Mesh.torus(5, 2), 0, 4));
    assertEquals("", onMesh(Mesh.torus(2, 5), 8, 0));
    assertTrue(onMesh(Mesh.torus(5, 2), 0, 2).contains("no such link"), "a ring has no short cut");
    assertTrue(onMesh(Mesh.torus(5, 2), 0, 3).contains("no such link"));
    assertTrue(onMesh(new Mesh(5, 2, false, true), 0, 4).contains("no such link"));
    assertTrue(onMesh(new Mesh(5, 2, false, true), 4, 5).contains("no such link"), "next row");
    assertEquals("", onMesh(new Mesh(2, 5, false, false), 0, 2));
    assertTrue(onMesh(new Mesh(2, 5, true, false), 0, 6).contains("no such link"));
    assertEquals(
        "a plan of 4 ranks on mesh 3x2 of 6",
        assertThrows(
                InvalidPlanException.class,
                () -> PlanVerifier.verify(TablePlan.ring(4), Mesh.torus(3, 2)))
            .getMessage());
  }

  /**
   * Returns what is said of a broadcast that begins with one transfer and goes on between
   * neighbours; nothing if it is right.
   */
  private static String onMesh(Mesh mesh, int from, int to) {
    List<List<Transfer>> rounds = new ArrayList<>();
    rounds.add(List.of(new Transfer(from, to, 0, 1, REPLACE)));
    Deque<Integer> tell = new ArrayDeque<>(List.of(from, to));
    Set<Integer> have = new HashSet<>(tell);
    while (!tell.isEmpty()) {
      int giver = tell.poll();
      for (int next : new int[] {giver - 1, giver + 1, giver - mesh.x(), giver + mesh.x()}) {
        boolean inRow = Math.floorDiv(next, mesh.x()) == giver / mesh.x();
        boolean inColumn = Math.abs(next - giver) == mesh.x() && next >= 0 && next < mesh.ranks();
        if ((inRow || inColumn) && have.add(next)) {
          tell.add(next);
          rounds.add(List.of(new Transfer(giver, next, 0, 1, REPLACE)));
        }
      }
    }
    try {
      PlanVerifier.verify(
          new TablePlan(Collective.BROADCAST, mesh.ranks(), from, 1, List.of(rounds)), mesh);
      return "";
    } catch (InvalidPlanException e) {
      return e.getMessage();
    }
  }

  @ParameterizedTest
  @MethodSource("wrongPlans")
  void rejects(Wrong wrong) {
    TablePlan plan = wrong.plan.get();
    assertEquals(
        wrong.message,
        assertThrows(InvalidPlanException.class, () -> PlanVerifier.verify(plan)).getMessage());
  }

  @Test
  void rejectsByTagsWithTheSeed() {
    TablePlan replaced = TablePlan.ring(70).with(3, 5, new Transfer(5, 6, 1, 1, REPLACE));
    assertEquals(
        "lane 0, round 3: rank 5 sends chunk 1 to rank 6 as a replacement, but it does not hold"
            + " every contribution exactly once (sums of tags, seed 7)",
        rejection(replaced, 7));

    TablePlan doubled = TablePlan.ring(70).plus(5, new Transfer(10, 11, 4, 1, REDUCE));
    assertEquals(
        "lane 0, round 69: rank 4 sends chunk 4 to rank 5 as a replacement, but it does not hold"
            + " every contribution exactly once (sums of tags, seed 8)",
        rejection(doubled, 8));

    TablePlan late = TablePlan.ring(70).plus(68, new Transfer(6, 7, 7, 1, REDUCE));
    assertEquals(
        "lane 0, round 69: rank 7 sends chunk 7 to rank 8 as a replacement, but it does not hold"
            + " every contribution exactly once (sums of tags, seed 8)",
        rejection(late, 8));

    assertEquals(
        "at the end chunk 1 of rank 0 does not hold every contribution exactly once (sums of tags,"
            + " seed 9)",
        rejection(without(TablePlan.ring(70), 137), 9));
  }

  @Test
  void acceptsRingsOfUpTo80() {
    for (int n = 1; n <= 80; n++) {
      PlanFigures figures = PlanVerifier.verify(TablePlan.ring(n));
      assertEquals(2L * n * (n - 1), figures.transfers());
    }
  }

  @Test
  void countsWhatAPlanCosts() {
    assertEquals(
        new PlanFigures(5, 3, 1, 2, 8, new Load(12, 3, 12), new Links(8, 1, 4)),
        PlanVerifier.verify(TablePlan.star(5, 3)));
    assertEquals(
        new PlanFigures(4, 8, 2, 6, 48, new Load(12, 12, 12), new Links(4, 1, 2)),
        PlanVerifier.verify(TablePlan.twice(TablePlan.ring(4))));
    assertEquals(
        new PlanFigures(1, 1, 1, 0, 0, new Load(0, 0, 0), new Links(0, 0, 0)),
        PlanVerifier.verify(TablePlan.ring(1)));
    assertEquals(4, PlanVerifier.verify(split(TablePlan.star(2, 4), 4)).links().mostFrames());
    assertEquals(75.0, PlanVerifier.verify(TablePlan.ring(4)).mostBytesSent(50), "2 x 50 x 3/4");
  }

  @Test
  void limitOfFramesIsTheCallers() {
    TablePlan plan = split(TablePlan.star(2, 5), 5);
    assertEquals(5, PlanVerifier.verify(plan, 5, 1).links().mostFrames());
    String message = rejection(TablePlan.ring(3), 0, 1);
    assertTrue(message.endsWith("frame 1 of the round on this link: allowed are 0"), message);
  }

  @Test
  void severalReductionsMayMeetInARound() {
    assertDoesNotThrow(() -> PlanVerifier.verify(TablePlan.star(64, 2)));
    assertDoesNotThrow(() -> PlanVerifier.verify(TablePlan.star(65, 2)));
  }

  @Test
  void barrierMayBeReleasedByReplacement() {
    TablePlan star = TablePlan.star(70, 1);
    PlanVerifier.verify(new TablePlan(Collective.BARRIER, 70, 1, star.table()));
  }

  @Test
  void refusesWhatDoesNotFitAnArray() {
    Plan huge = Plan.of(Collective.ALL_REDUCE, 65_536, 65_536, Rounds.of(0, (r, s) -> {}));
    String message =
        assertThrows(IllegalArgumentException.class, () -> PlanVerifier.verify(huge)).getMessage();
    assertTrue(message.startsWith("a plan of 65536 ranks and 65536 chunks is too large"), message);
  }

  private static String rejection(Plan plan, long seed) {
    return rejection(plan, PlanVerifier.FRAMES_PER_LINK, seed);
  }

  private static String rejection(Plan plan, int framesPerLink, long seed) {
    return assertThrows(
            InvalidPlanException.class, () -> PlanVerifier.verify(plan, framesPerLink, seed))
        .getMessage();
  }

  private static TablePlan without(TablePlan plan, int round) {
    plan.table().get(0).remove(round);
    return plan;
  }

  /** The first transfer of each round as so many of one chunk each. */
  private static TablePlan split(TablePlan plan, int chunks) {
    for (List<Transfer> round : plan.table().get(0)) {
      Transfer whole = round.remove(0);
      for (int chunk = 0; chunk < chunks; chunk++) {
        round.add(new Transfer(whole.from(), whole.to(), chunk, 1, whole.effect()));
      }
    }
    return plan;
  }

  /** Two ranks that exchange what they have. */
  private static Plan exchanges(Collective collective) {
    return Plan.of(
        collective,
        2,
        1,
        Rounds.of(
            1,
            (round, sink) -> {
              sink.transfer(0, 1, 0, 1, REDUCE);
              sink.transfer(1, 0, 0, 1, REDUCE);
            }));
  }

  /** Everybody tells rank 0, which tells everybody but has not waited for the last. */
  private static TablePlan barrierThatForgets(int ranks) {
    List<Transfer> in = new ArrayList<>();
    List<Transfer> out = new ArrayList<>();
    for (int rank = 1; rank < ranks; rank++) {
      in.add(new Transfer(rank, 0, 0, 1, REDUCE));
      out.add(new Transfer(0, rank, 0, 1, REDUCE));
    }
    Transfer last = in.remove(ranks - 2);
    out.add(last);
    return new TablePlan(Collective.BARRIER, ranks, 1, List.of(List.of(in, out)));
  }

  record Wrong(String name, Supplier<TablePlan> plan, String message) {
    @Override
    public String toString() {
      return name;
    }
  }
}
