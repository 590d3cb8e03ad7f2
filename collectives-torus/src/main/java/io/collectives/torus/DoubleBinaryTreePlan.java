package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.function.IntUnaryOperator;

/**
 * A plan with two binary trees over the same ranks, each with half of the payload, which is reduced
 * up to the root and broadcast down again. The inner nodes of one tree are leaves of the other, so
 * that the links of all ranks are busy (Sanders, Speck and Träff 2009; NCCL 2.4).
 *
 * <p>Nodes are numbered 1 to n from left to right. As in any such tree the odd ones are leaves; the
 * height of a node is the number of zeros at the end of its number, and the root is the largest
 * power of two, 2^h. The first tree has node i at rank i-1. The second has it at rank n-i if n is
 * even, which exchanges odd and even ranks; otherwise at rank i mod n, so that rank 0 is a leaf of
 * both.
 *
 * <p>The plan has 2 chunks and 2 lanes; the root of the first tree, rank 2^h - 1, owns chunk 0, and
 * that of the second, rank n - 2^h or 2^h, owns chunk 1. A rank has at most 4 peers. A node adds
 * the sums of its children to its own contribution, that of the lower child first, and of two
 * children of the same height that of the left one.
 *
 * <p>Steps: 2 floor(log2 n), which is 2 (ceil(log2(n+1)) - 1). Bytes: a rank sends from M to 2M; an
 * inner node with two children and a parent sends 2M; all ranks together send 2M(n-1).
 *
 * <p>From, or to, a root each half takes its tree one way. Ranks are turned so that the root is
 * that of the first tree, and so a leaf of the second: as such it is left out, and the second
 * tree's root is its only child there. The root owns both chunks. Steps: 1 + floor(log2 n). Bytes:
 * of n ranks the root sends 3M/2 of a broadcast if it has two children, and M if one; another rank
 * at most M; in a reduction each sends M.
 *
 * <p>Collectives that distribute the payload over the ranks are planned by {@link
 * HalvingDoublingPlan}, because trees have no parts.
 */
final class DoubleBinaryTreePlan {
  /** A rank that no node stands at. */
  private static final int NOBODY = -1;

  private DoubleBinaryTreePlan() {}

  static Plan of(PlanRequest request) {
    return switch (request.collective()) {
      case ALL_REDUCE -> allReduce(request);
      case BROADCAST, REDUCE -> rooted(request);
      case BARRIER, REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER, ALL_TO_ALL ->
          HalvingDoublingPlan.of(request);
    };
  }

  private static Plan allReduce(PlanRequest request) {
    Tree first = Tree.first(request.ranks());
    Tree second = Tree.second(request.ranks());
    return Plan.of(
        request,
        2,
        first.reduce().then(first.broadcast()),
        second.reduce().then(second.broadcast()));
  }

  private static Plan rooted(PlanRequest request) {
    int ranks = request.ranks();
    int root = request.root();
    int turn = root - Tree.first(ranks).root();
    Tree first = Tree.first(ranks).turned(turn, NOBODY);
    Tree second = Tree.second(ranks).turned(turn, root);
    boolean reduces = request.collective() == Collective.REDUCE;
    Rounds between =
        Rounds.of(
            ranks == 1 ? 0 : 1,
            (round, sink) -> {
              if (reduces) {
                sink.transfer(second.root(), root, 1, 1, Effect.REDUCE);
              } else {
                sink.transfer(root, second.root(), 1, 1, Effect.REPLACE);
              }
            });
    return reduces
        ? Plan.of(request, 2, first.reduce(), second.reduce().then(between))
        : Plan.of(request, 2, first.broadcast(), between.then(second.broadcast()));
  }

  /**
   * A tree, one of the two of the plan.
   *
   * @param rankOf the rank at each node
   * @param chunk the chunk that it moves
   * @param leftOut the rank of a leaf that takes no part, or {@link #NOBODY}
   */
  record Tree(int ranks, IntUnaryOperator rankOf, int chunk, int leftOut) {

    static Tree first(int ranks) {
      return new Tree(ranks, node -> node - 1, 0, NOBODY);
    }

    static Tree second(int ranks) {
      IntUnaryOperator rankOf = ranks % 2 == 0 ? node -> ranks - node : node -> node % ranks;
      return new Tree(ranks, rankOf, 1, NOBODY);
    }

    /** Returns this tree with each rank {@code turn} places on. */
    Tree turned(int turn, int leaf) {
      IntUnaryOperator turned = node -> Math.floorMod(rankOf.applyAsInt(node) + turn, ranks);
      return new Tree(ranks, turned, chunk, leaf);
    }

    /** Returns this tree between other ranks, those that stand for its own, and for a chunk. */
    Tree between(IntUnaryOperator others, int otherChunk) {
      return new Tree(ranks, others.compose(rankOf), otherChunk, NOBODY);
    }

    int root() {
      return rankOf.applyAsInt(Integer.highestOneBit(ranks));
    }

    /**
     * Makes the rounds of a reduction: all nodes of height 0 send to their parents, then those of
     * height 1, and so on.
     */
    Rounds reduce() {
      return rounds(
          round -> round,
          (parent, child, sink) -> sink.transfer(child, parent, chunk, 1, Effect.REDUCE));
    }

    /** Makes the rounds of a broadcast, which are those of the reduction backwards. */
    Rounds broadcast() {
      return rounds(
          round -> height() - 1 - round,
          (parent, child, sink) -> sink.transfer(parent, child, chunk, 1, Effect.REPLACE));
    }

    private int height() {
      return Integer.numberOfTrailingZeros(Integer.highestOneBit(ranks));
    }

    private Rounds rounds(IntUnaryOperator heightOfRound, Pair pair) {
      return Rounds.of(
          height(),
          (round, sink) -> {
            int first = 1 << heightOfRound.applyAsInt(round);
            for (int node = first; node <= ranks; node += 2 * first) {
              int child = rankOf.applyAsInt(node);
              if (child != leftOut) {
                pair.transfer(rankOf.applyAsInt(parent(node)), child, sink);
              }
            }
          });
    }

    /**
     * Returns the parent of a node. In a full tree it is one higher, to the left or right; where
     * the tree ends before it, the next one above, which is to the left.
     */
    private int parent(int node) {
      int bit = Integer.lowestOneBit(node);
      int full = (node ^ bit) | (bit << 1);
      return full <= ranks ? full : node ^ bit;
    }
  }
}
