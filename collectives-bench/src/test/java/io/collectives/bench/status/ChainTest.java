package io.collectives.bench.status;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Answers of ranks are read, and tell together who keeps the others waiting. */
class ChainTest {
  private static final String HEAD =
      "collectives-status\t1\nrank\t%d\t4\t01234567\tnight\n"
          + "process\t%d\thost\tdomain\t5000000\t100\nplace\ttcp://localhost:1\n"
          + "memory\t1\t2\t3\t4\t5\ngc\t0\t0\n";

  /** The line of a call, which has lasted for a second. */
  private static String call(String group, int sequence, String collective, int awaited) {
    return String.format(
        "call\t%s\t%d\t%s\tring\tsum\tfloat32\t1024\trunning\t1000000\t%d\tit waits\n",
        group, sequence, collective, awaited);
  }

  private static String group(String id, String members, int begun) {
    return "group\t" + id + "\t" + members + "\t" + begun + "\twhole\t\n";
  }

  private static String world(int begun) {
    return group("1", "*", begun);
  }

  private static RankAnswer answer(int rank, String lines) {
    return RankAnswer.parse(String.format(HEAD, rank, 100 + rank) + lines + "end\n");
  }

  private static Map<Integer, RankAnswer> answers(String... lines) {
    Map<Integer, RankAnswer> answers = new TreeMap<>();
    for (int rank = 0; rank < lines.length; rank++) {
      if (!lines[rank].isEmpty()) {
        answers.put(rank, answer(rank, lines[rank]));
      }
    }
    return answers;
  }

  private static void assertChain(
      Map<Integer, RankAnswer> answers, int from, Chain.End end, Integer... ranks) {
    Chain chain = notNull(Chain.from(from, answers));
    assertEquals(end, chain.end());
    assertEquals(List.of(ranks), chain.ranks());
  }

  private static Chain notNull(Chain chain) {
    assertNotNull(chain);
    return chain;
  }

  @Test
  void aChainLeadsToTheRankThatIsInNoCall() {
    Map<Integer, RankAnswer> ring =
        answers(
            world(42) + call("1", 41, "all-reduce", 3),
            world(42) + call("1", 41, "all-reduce", 0),
            world(41),
            world(42) + call("1", 41, "all-reduce", 2));
    assertChain(ring, 1, Chain.End.IN_NO_CALL, 1, 0, 3, 2);
    assertChain(ring, 3, Chain.End.IN_NO_CALL, 3, 2);
    assertNull(Chain.from(2, ring));
  }

  @Test
  void aRankThatDoesNotAnswerEndsAChain() {
    Map<Integer, RankAnswer> some =
        answers(world(1) + call("1", 0, "barrier", 1), "", world(1), world(1));
    assertChain(some, 0, Chain.End.SILENT, 0, 1);
  }

  @Test
  void anEngineThatIsKeptEndsAChain() {
    Map<Integer, RankAnswer> some = answers(world(1) + call("1", 0, "barrier", 1), "busy\t1000\n");
    assertChain(some, 0, Chain.End.BUSY, 0, 1);
  }

  @Test
  void ranksThatWaitForEachOtherInOneCallGoOn() {
    Map<Integer, RankAnswer> both =
        answers(world(1) + call("1", 0, "all-reduce", 1), world(1) + call("1", 0, "all-reduce", 0));
    assertChain(both, 0, Chain.End.MOVING, 0, 1, 0);
    assertFalse(notNull(Chain.from(0, both)).blames());
  }

  @Test
  void callsOfTwoGroupsInDifferentOrdersAreACircle() {
    String group = group("ab", "0,1", 1);
    Map<Integer, RankAnswer> both =
        answers(
            world(5) + group + call("ab", 0, "barrier", 1),
            world(6) + call("1", 5, "all-reduce", 0) + group("ab", "0,1", 0));
    assertChain(both, 0, Chain.End.CIRCLE, 0, 1, 0);
    List<String> said = Findings.of(new Observation("01234567", looks(both, 2), Map.of()));
    assertTrue(
        said.get(0).startsWith("Ranks wait for each other in a circle, for good: "), said.get(0));
    assertTrue(
        said.get(0).contains("in barrier #0 of 1 KiB of the group of ranks 0 and 1"), said.get(0));
  }

  /** Asynchronous calls of two groups that go on: the answers are not of the same moment. */
  @Test
  void aCircleThatIsAnotherOneAtTheNextLookIsNone() {
    List<Look> looks = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      Map<Integer, RankAnswer> both =
          answers(
              world(5 + i) + group("ab", "0,1", 1) + call("ab", 0, "barrier", 1),
              world(6 + i) + call("1", 5 + i, "all-reduce", 0) + group("ab", "0,1", 0));
      assertChain(both, 0, Chain.End.CIRCLE, 0, 1, 0);
      looks.add(new Look(i * 1_000_000_000L, both, Map.of()));
    }
    Observation job = new Observation("01234567", looks, Map.of());
    assertEquals(List.of(), job.culprits());
    assertEquals(
        List.of("Nobody keeps the others waiting for long: calls go on, 1 a second at each rank."),
        Findings.of(job));
  }

  @Test
  void aShortWaitThatWasSeenOnceIsChance() {
    String wait = call("1", 41, "all-reduce", 1).replace("1000000", "50000");
    List<Look> looks = looks(answers(world(42), world(42)), 3);
    looks.add(new Look(9_000_000_000L, answers(world(42) + wait, world(41)), Map.of()));
    Observation job = new Observation("01234567", looks, Map.of());
    assertEquals(1, job.culprits().size());
    assertEquals(List.of(), Findings.told(job));
  }

  /** Rank 1 has ended the call: what it sent is on its way, which is no news unless others wait. */
  @Test
  void whatIsOnItsWayIsWaitedFor() {
    Map<Integer, RankAnswer> moving = answers(world(8) + call("1", 7, "all-reduce", 1), world(8));
    assertChain(moving, 0, Chain.End.MOVING, 0);
    Map<Integer, RankAnswer> behind =
        answers(
            world(8) + call("1", 7, "all-reduce", 1),
            world(8),
            world(9) + call("1", 8, "all-reduce", 0));
    assertChain(behind, 2, Chain.End.BEHIND, 2, 0);
  }

  private static List<Look> looks(Map<Integer, RankAnswer> answers, int count) {
    List<Look> looks = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      looks.add(new Look(i * 1_000_000_000L, answers, Map.of()));
    }
    return looks;
  }

  @Test
  void whoIsLateAtAllLooksIsToldFromWhoIsLateNowAndThen() {
    Map<Integer, RankAnswer> late =
        answers(
            world(42) + call("1", 41, "all-reduce", 2),
            world(42) + call("1", 41, "all-reduce", 2),
            world(41),
            world(42) + call("1", 41, "all-reduce", 2));
    Map<Integer, RankAnswer> fine = answers(world(43), world(43), world(43), world(43));
    List<Look> looks = looks(late, 3);
    Observation steady = new Observation("01234567", looks, Map.of());
    assertEquals(1, steady.culprits().size());
    assertTrue(steady.culprits().get(0).isSteady());
    assertEquals(List.of(0, 1, 3), steady.culprits().get(0).waiting());
    assertTrue(
        Findings.of(steady)
            .get(0)
            .startsWith(
                "Rank 2 keeps the others waiting: ranks 0, 1 and 3 wait in all-reduce #41 of 1 KiB"
                    + ", for 1.00 s by now, and rank 2 is in no call"));
    looks.add(new Look(9_000_000_000L, fine, Map.of()));
    Observation sometimes = new Observation("01234567", looks, Map.of());
    assertFalse(sometimes.culprits().get(0).isSteady());
    assertTrue(
        Findings.of(sometimes)
            .get(0)
            .startsWith(
                "Rank 2 keeps the others waiting again and again (seen at 3 of 4 looks): ranks 0, 1"
                    + " and 3 had waited for 1.00 s in all-reduce #41 of 1 KiB while rank 2 was in"
                    + " no call"));
  }

  @Test
  void ratesAreThoseBetweenTheFirstAndTheLastLook() {
    List<Look> looks =
        List.of(
            new Look(0, answers("link\t1\tshm\t1\t1000\t1\t500\n" + world(1)), Map.of()),
            new Look(
                2_000_000_000L, answers("link\t1\tshm\t1\t5000\t1\t700\n" + world(5)), Map.of()));
    Observation job = new Observation("01234567", looks, Map.of());
    assertEquals(2000, job.sentPerSecond(0));
    assertEquals(2000, job.sentPerSecond(0, 1));
    assertEquals(100, job.receivedPerSecond(0));
    assertEquals(2, job.callsPerSecond(0));
    assertTrue(Double.isNaN(job.sentPerSecond(1)));
    assertEquals(
        List.of("Nobody keeps the others waiting for long: calls go on, 2 a second at each rank."),
        Findings.of(job));
  }

  @Test
  void whatIsNoAnswerIsRefusedAndTerminalsAreSafe() {
    String good = String.format(HEAD, 1, 2);
    assertThrows(IllegalArgumentException.class, () -> RankAnswer.parse(good));
    for (String bad :
        List.of(
            "",
            "HTTP/1.1 400\n",
            good.replace("status\t1", "status\t2") + "end\n",
            good + "error\tno\nend\n",
            good + "link\t1\tshm\t-1\t0\t0\t0\nend\n",
            good + "link\t1\nend\n",
            good + call("1", 0, "barrier", 0) + "end\n",
            good + "at\tx\nend\n")) {
      assertThrows(IllegalArgumentException.class, () -> RankAnswer.parse(bad), bad);
    }
    RankAnswer answer =
        answer(
            1, "unknown\tline\nthreads\t1\t0\nthread\tRUNNABLE\t\u001b[2Jmain\nat\ta.b\ncut\t3\n");
    assertEquals(" [2Jmain", answer.threads().stacks().get(0).name());
    assertEquals(List.of("a.b"), answer.threads().stacks().get(0).frames());
    assertEquals(3, answer.threads().stacks().get(0).cut());
  }
}
