package io.collectives.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.Mesh;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;
import io.collectives.WireType;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CallFingerprintTest {

  private static long[] of(
      Collective collective,
      ReduceOp op,
      ElementType type,
      WireType wire,
      int slabs,
      long count,
      Algorithm algorithm,
      int root,
      int dealt) {
    long[] words = new long[CallFingerprint.WORDS];
    CallFingerprint.begin(words, collective, op, type);
    CallFingerprint.numbers(words, wire, Repeatability.FASTEST);
    CallFingerprint.size(words, count, slabs);
    CallFingerprint.plan(words, CallFingerprint.words(algorithm.name()), root, dealt);
    return words;
  }

  private static long[] of(ReduceOp op, Repeatability repeatability) {
    long[] words = new long[CallFingerprint.WORDS];
    CallFingerprint.begin(words, Collective.ALL_REDUCE, op, ElementType.FLOAT32);
    CallFingerprint.numbers(words, WireType.AS_IN_MEMORY, repeatability);
    CallFingerprint.size(words, 100, 1);
    CallFingerprint.plan(
        words, CallFingerprint.words(Algorithm.parameterServer(1_000_000).name()), 0, 0);
    return words;
  }

  private static long[] usual() {
    return of(
        Collective.GATHER,
        ReduceOp.SUM,
        ElementType.FLOAT32,
        WireType.AS_IN_MEMORY,
        3,
        100,
        Algorithm.ring(),
        2,
        0);
  }

  /** A difference is named with both values, and nothing else is taken for the same. */
  @Test
  void everyDifferenceIsNamed() {
    ElementType f = ElementType.FLOAT32;
    ElementType d = ElementType.FLOAT64;
    WireType w = WireType.AS_IN_MEMORY;
    Algorithm ring = Algorithm.ring();
    ReduceOp sum = ReduceOp.SUM;
    Collective gather = Collective.GATHER;
    Object[][] cases = {
      {of(Collective.SCATTER, sum, f, w, 3, 100, ring, 2, 0), "collective", "gather", "scatter"},
      {of(gather, sum, d, w, 3, 100, ring, 2, 0), "element type", "float32", "float64"},
      {of(gather, sum, f, w, 3, 100, ring, 1, 0), "root", "2", "1"},
      {of(gather, sum, f, w, 3, 101, ring, 2, 0), "count", "100", "101"},
      {
        of(gather, sum, f, w, 3, 100, ring, 2, 0xab),
        "counts per rank",
        "even",
        "given (checksum ab)"
      },
      {of(gather, ReduceOp.MAX, f, w, 3, 100, ring, 2, 0), "op", "sum", "max"},
      {of(gather, sum, f, w, 3, 100, Algorithm.direct(), 2, 0), "algorithm", "ring", "direct"},
      {
        of(gather, sum, f, WireType.BFLOAT16, 3, 100, ring, 2, 0),
        "wire type",
        "as-in-memory",
        "bfloat16"
      },
      {
        of(gather, sum, f, w, 4, 100, ring, 2, 0),
        "frame length (CallSettings.frameLength), by the number of parts that the payload is sent in,",
        "3",
        "4"
      },
    };
    for (Object[] each : cases) {
      long[] other = (long[]) each[0];
      assertFalse(CallFingerprint.same(usual(), other), (String) each[1]);
      CallFingerprint.Difference difference = CallFingerprint.difference(usual(), other);
      assertEquals(each[1], difference.what());
      assertEquals(each[2], difference.mine());
      assertEquals(each[3], difference.theirs());
    }
    assertTrue(CallFingerprint.same(usual(), usual()));
    assertEquals("gather of 100 float32, ring, root 2", CallFingerprint.describe(usual()));
    long[] narrow = of(gather, sum, f, WireType.FLOAT16, 3, 100, ring, 2, 0);
    assertEquals(
        "gather of 100 float32, ring, as float16, root 2", CallFingerprint.describe(narrow));
  }

  /** A barrier has no elements, a message no algorithm, and only reductions have an op. */
  @Test
  void callsAreToldInTheWordsOfTheirUsers() {
    ElementType f = ElementType.FLOAT32;
    WireType w = WireType.AS_IN_MEMORY;
    ReduceOp sum = ReduceOp.SUM;
    Algorithm message = Algorithm.named(CallFingerprint.MESSAGE);
    for (Collective collective : Collective.values()) {
      String told =
          CallFingerprint.describe(of(collective, sum, f, w, 1, 5, Algorithm.ring(), 0, 0));
      String expected =
          switch (collective) {
            case BARRIER -> "barrier, ring";
            case ALL_REDUCE, REDUCE, REDUCE_SCATTER -> collective + " of 5 float32, sum, ring";
            default -> collective + " of 5 float32, ring";
          };
      assertEquals(expected, told);
    }
    assertEquals(
        "send/receive of 5 float32",
        CallFingerprint.describe(of(Collective.BROADCAST, sum, f, w, 1, 5, message, 0, 0)));
  }

  @Test
  void levelsAndUsersOpsAreNamed() {
    long[] sum = of(ReduceOp.SUM, Repeatability.FASTEST);
    long[] exact = of(ReduceOp.SUM, Repeatability.EXACT);
    assertEquals(
        new CallFingerprint.Difference("repeatability", "fastest", "exact"),
        CallFingerprint.difference(sum, exact));
    String algorithm = "parameter-server:1000000";
    assertEquals(
        "all-reduce of 100 float32, sum, " + algorithm + ", exact",
        CallFingerprint.describe(exact));
    long[] own = of(UserOp.commutative("a =.9z-_"), Repeatability.RANK_ORDER);
    assertEquals(
        "all-reduce of 100 float32, \"a =.9z-_\", " + algorithm + ", rank-order",
        CallFingerprint.describe(own));
    long[] other = of(UserOp.commutative("a =.9z-"), Repeatability.RANK_ORDER);
    long[] ordered = of(UserOp.inRankOrder("a =.9z-"), Repeatability.RANK_ORDER);
    assertEquals(
        new CallFingerprint.Difference("op", "\"a =.9z-_\"", "\"a =.9z-\""),
        CallFingerprint.difference(own, other));
    assertEquals(
        new CallFingerprint.Difference("op", "\"a =.9z-\"", "\"a =.9z-\" in rank order"),
        CallFingerprint.difference(other, ordered));
    assertFalse(CallFingerprint.same(own, other));
    assertFalse(CallFingerprint.same(other, ordered));
  }

  @Test
  void buffersHaveNumbers() {
    long[] mine = of(ReduceOp.SUM, Repeatability.FASTEST);
    long[] theirs = mine.clone();
    assertEquals(0, CallFingerprint.buffer(mine));
    CallFingerprint.buffer(theirs, Integer.MAX_VALUE);
    assertEquals(Integer.MAX_VALUE, CallFingerprint.buffer(theirs));
    assertFalse(CallFingerprint.same(mine, theirs));
    assertEquals(
        new CallFingerprint.Difference("number of the buffer", "0", "2147483647"),
        CallFingerprint.difference(mine, theirs));
    assertEquals(
        CallFingerprint.describe(mine) + ", buffer 2147483647", CallFingerprint.describe(theirs));
    CallFingerprint.buffer(theirs, 0);
    assertTrue(CallFingerprint.same(mine, theirs));
  }

  /** A rank that serves finds op and level in the fingerprint. */
  @Test
  void callsTellTheirOpAndLevel() {
    UserOp own = UserOp.commutative("a =.9z-_");
    for (Repeatability level : Repeatability.values()) {
      long[] call = of(own, level);
      assertEquals(level.ordinal(), CallFingerprint.repeatability(call));
      assertTrue(CallFingerprint.isBy(call, own));
      assertFalse(CallFingerprint.isBy(call, UserOp.commutative("a =.9z-")));
      assertFalse(CallFingerprint.isBy(call, UserOp.inRankOrder("a =.9z-_")));
      assertFalse(CallFingerprint.isBy(of(ReduceOp.SUM, level), own));
    }
  }

  @Test
  void aCheckIsPartOfACall() {
    long[] checked = usual();
    CallFingerprint.checkFinite(checked);
    assertFalse(CallFingerprint.same(usual(), checked));
    CallFingerprint.Difference difference = CallFingerprint.difference(usual(), checked);
    assertEquals(
        new CallFingerprint.Difference("check for finite numbers", "off", "on"), difference);
    assertEquals("gather of 100 float32, ring, checked, root 2", CallFingerprint.describe(checked));
  }

  @Test
  void furtherTypesAreNamed() {
    long[] mine = usual();
    long[] theirs = usual();
    CallFingerprint.typesToCome(theirs, 2);
    assertFalse(CallFingerprint.same(mine, theirs));
    CallFingerprint.Difference difference = CallFingerprint.difference(mine, theirs);
    assertEquals("number of further element types", difference.what());
    assertEquals("0", difference.mine());
    assertEquals("2", difference.theirs());
    assertEquals(
        "gather of 100 float32 and more of 2 other types, ring, root 2",
        CallFingerprint.describe(theirs));
    CallFingerprint.typesToCome(theirs, 0);
    assertTrue(CallFingerprint.same(mine, theirs));
  }

  @Test
  void aPairNamesItsOwnCount() {
    long[] mine = usual();
    mine[5] = CallFingerprint.PAIRWISE;
    long[] theirs = mine.clone();
    CallFingerprint.count(theirs, 7);
    CallFingerprint.Difference difference = CallFingerprint.difference(mine, theirs);
    assertEquals("count from sender to receiver", difference.what());
    assertEquals("100", difference.mine());
    assertEquals("7", difference.theirs());
  }

  /** Other counts have other hashes, none of which means something else. */
  @Test
  void countsAreTold() {
    Set<Integer> hashes = new HashSet<>(Set.of(0, CallFingerprint.PAIRWISE));
    for (long[] counts :
        List.of(
            new long[0],
            new long[] {0},
            new long[] {0, 0},
            new long[] {1, 2},
            new long[] {2, 1},
            new long[] {3, 0},
            new long[] {0, 3},
            new long[] {1L << 40, 2})) {
      assertTrue(hashes.add(CallFingerprint.hash(counts)));
    }
    assertEquals(CallFingerprint.hash(new long[] {1, 2}), CallFingerprint.hash(new long[] {1, 2}));
  }

  /** Names are told apart by what fits. */
  @Test
  void namesFit() {
    Set<String> names = new HashSet<>();
    List<Algorithm> algorithms =
        List.of(
            Algorithm.ring(),
            Algorithm.bidirectionalRing(),
            Algorithm.shortestWayRing(),
            Algorithm.direct(),
            Algorithm.binomialTree(),
            Algorithm.recursiveDoubling(),
            Algorithm.halvingDoubling(),
            Algorithm.doubleBinaryTree(),
            Algorithm.parameterServer(1_000_000),
            Algorithm.torus(Mesh.torus(128, 32)),
            Algorithm.torus(new Mesh(128, 32, true, false)),
            Algorithm.torus(new Mesh(4096, 4096, false, true)),
            Algorithm.torus(new Mesh(4096, 4096, false, false)),
            Algorithm.torus(new Mesh(4096, 4096, true, false)));
    for (Algorithm algorithm : algorithms) {
      long[] words =
          of(
              Collective.ALL_REDUCE,
              ReduceOp.SUM,
              ElementType.FLOAT32,
              WireType.AS_IN_MEMORY,
              1,
              1,
              algorithm,
              0,
              0);
      String text = CallFingerprint.describe(words);
      assertTrue(names.add(text.substring(text.lastIndexOf(", ") + 2)), text);
      assertEquals(0, words[5], "a name must not reach into the next word");
    }
    assertEquals(64, Algorithm.named("a".repeat(64)).name().length());
    assertThrows(IllegalArgumentException.class, () -> Algorithm.named("a".repeat(65)));
    assertNotEquals(0, CallFingerprint.PAIRWISE);
  }

  /** Ranks whose algorithms differ behind the characters that a call has room for must see it. */
  @Test
  void longNamesThatDifferAtTheEndAreTold() {
    assertEquals("torus:4x2", CallFingerprint.told("torus:4x2"));
    assertEquals("hierarchical-tree:128x32", CallFingerprint.told("hierarchical-tree:128x32"));
    String one = CallFingerprint.told("weighted-torus:128x32 wrap=y/2:1");
    String other = CallFingerprint.told("weighted-torus:128x32 wrap=y/9:1");
    assertTrue(one.startsWith("weighted-torus:1") && one.length() <= 24, one);
    assertNotEquals(one, other);
    assertEquals(one, CallFingerprint.told("weighted-torus:128x32 wrap=y/2:1"));
  }
}
