package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Rounds;
import java.util.function.IntUnaryOperator;

/**
 * Two binary trees over the same ranks, each with half of the payload, which is reduced up to the
 * root and broadcast down again. What is an inner node of one is a leaf of the other, so that the
 * links of all ranks are busy (Sanders, Speck and Träff 2009; NCCL 2.4).
 *
 * <p>Nodes are numbered 1 to n from left to right. As in any such tree the odd ones are leaves; the
 * height of a node is the number of zeros at the end of its number, and the root is the largest
 * power of two, 2^h. The first tree has node i at rank i-1. The second has it at rank n-i if n is
 * even, which swaps odd and even; else at rank i mod n, so that rank 0 is a leaf of both.
 *
 * <p>Shape: 2 chunks, 2 lanes; the root of the first tree, rank 2^h - 1, owns chunk 0, and that of
 * the second, rank n - 2^h or 2^h, owns chunk 1. A rank has at most 4 peers. A node's sum is its
 * own, then those of its children, the lower one first and of two as high the left one.
 *
 * <p>Steps: 2 floor(log2 n), which is 2 (ceil(log2(n+1)) - 1). Bytes: a rank sends from M to 2M, an
 * inner node with two children and a parent 2M; together they send 2M(n-1).
 */
final class DoubleBinaryTreePlan {
  private DoubleBinaryTreePlan() {}

  static Plan allReduce(int ranks) {
    IntUnaryOperator complement = ranks % 2 == 0 ? node -> ranks - node : node -> node % ranks;
    return Plan.of(
        Collective.ALL_REDUCE,
        ranks,
        2,
        tree(ranks, node -> node - 1, 0),
        tree(ranks, complement, 1));
  }

  /** All nodes of height 0 send to their parents, then those of height 1, …; and back. */
  private static Rounds tree(int ranks, IntUnaryOperator rankOf, int chunk) {
    int height = Integer.numberOfTrailingZeros(Integer.highestOneBit(ranks));
    Rounds reduce =
        Rounds.of(
            height,
            (round, sink) -> {
              for (int node = 1 << round; node <= ranks; node += 2 << round) {
                int parent = rankOf.applyAsInt(parent(node, ranks));
                sink.transfer(rankOf.applyAsInt(node), parent, chunk, 1, Effect.REDUCE);
              }
            });
    Rounds broadcast =
        Rounds.of(
            height,
            (round, sink) -> {
              int first = 1 << (height - 1 - round);
              for (int node = first; node <= ranks; node += 2 * first) {
                int parent = rankOf.applyAsInt(parent(node, ranks));
                sink.transfer(parent, rankOf.applyAsInt(node), chunk, 1, Effect.REPLACE);
              }
            });
    return reduce.then(broadcast);
  }

  /**
   * The parent in a full tree is one higher, to the left or right; where the tree ends before it,
   * the next one above, which is to the left.
   */
  private static int parent(int node, int nodes) {
    int bit = Integer.lowestOneBit(node);
    int full = (node ^ bit) | (bit << 1);
    return full <= nodes ? full : node ^ bit;
  }
}
