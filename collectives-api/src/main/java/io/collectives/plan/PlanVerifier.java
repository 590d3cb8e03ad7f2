package io.collectives.plan;

import io.collectives.Collective;
import io.collectives.Mesh;

/**
 * Proves that a plan does what it says, by moving sets of contributors where an engine would move
 * sums.
 *
 * <p><b>What holds for a transfer.</b> Its ranks and chunks exist, it has at least one chunk, and
 * no rank sends to itself.
 *
 * <p><b>What holds for a round.</b> A transfer carries what the sender's chunks held when the round
 * began. A chunk of a rank receives any number of REDUCEs, which are combined in the order in which
 * the round names them, or one REPLACE, or nothing; never both kinds. A round puts no more
 * transfers on a link (from, to) than the link takes unanswered: since each rank sends before it
 * receives and links are first in, first out for each lane, no timing can then deadlock.
 *
 * <p><b>What holds for lanes.</b> A chunk belongs to one lane. So lanes touch nothing in common,
 * their rounds may interleave in any way, and each may be verified by itself.
 *
 * <p><b>What holds for contributions.</b> A rank contributes to a chunk if it holds it before the
 * first round. Nobody sends a chunk of which it holds nothing. Several ranks contribute to the
 * chunks of an all-reduce, a reduce-scatter and a reduce, namely all; one to those of the others,
 * which reduce nothing. No contribution reaches a chunk twice. Nothing is reduced into a chunk that
 * holds nothing, except at a rank that only serves: there are such ranks in an all-reduce whose
 * plan has fewer {@linkplain Plan#contributors() contributors} than ranks. A REPLACE carries a
 * chunk that is complete: it holds all contributions to it.
 *
 * <p><b>What holds for sums.</b> All ranks end with the same bits, whatever op they reduce with. A
 * chunk with several contributors becomes complete by REDUCE at exactly one rank, its
 * <em>owner</em>, by the last REDUCE of it that the plan names, and everywhere else by REPLACE: so
 * the owner may divide it (an average) or round it (a narrow wire type) before it goes on. Only in
 * an all-reduce to which all ranks contribute it may become complete by REDUCE at several ranks,
 * which divide and round it, too. Then it is sent by itself, without other chunks, and these ranks
 * must compute the very same sum: the same operands, in the same places. Three rules define the sum
 * that a rank computes. In an <em>exchange</em>, where it receives the single contribution of every
 * other rank in one round, it adds them in the order of ranks. If it sends the chunk in the round
 * in which it is reduced into, as partners do that exchange their chunks, the lower rank's operand
 * comes first, and its own operand is rounded like the one that it sends. Otherwise its own operand
 * comes first.
 *
 * <p><b>What holds at the ends.</b> With part i of n ranks being the chunks from i k to (i + 1) k -
 * 1 of n k, and the pair (i, j) those from (i n + j) k on of n n k:
 *
 * <table>
 * <caption>What ranks hold before the first round, and complete after the last</caption>
 * <tr><th>collective</th><th>before: contributes to</th><th>after: holds complete</th></tr>
 * <tr><td>all-reduce</td><td>each contributor: all</td><td>each contributor: all</td></tr>
 * <tr><td>reduce-scatter</td><td>each rank: all</td><td>rank i: part i</td></tr>
 * <tr><td>all-gather</td><td>rank i: part i</td><td>each rank: all</td></tr>
 * <tr><td>broadcast</td><td>the root: all</td><td>each rank: all</td></tr>
 * <tr><td>reduce</td><td>each rank: all</td><td>the root: all</td></tr>
 * <tr><td>gather</td><td>rank i: part i</td><td>the root: all</td></tr>
 * <tr><td>scatter</td><td>the root: all</td><td>rank i: part i</td></tr>
 * <tr><td>all-to-all</td><td>rank i: each pair (i, j)</td><td>rank j: each pair (i, j)</td></tr>
 * </table>
 *
 * <p>All other contents at the end are undefined. A root must be a rank, and is 0 where there is
 * none.
 *
 * <p><b>What holds for a barrier.</b> It has one chunk, which stands for "these ranks have
 * entered"; REDUCE unites such sets, and learning of a rank twice does no harm. At the end every
 * rank knows that every rank has entered.
 *
 * <p><b>What holds on a mesh</b>, if one is given. A transfer goes along one row or one column,
 * from a rank to its neighbour; in a dimension that wraps the last place is the first one's. So no
 * transfer needs a link that the mesh lacks.
 *
 * <p>For up to 64 ranks, and for barriers of any size, the sets are exact and an error names the
 * contributor. Other plans of more ranks are checked by sums of random 64-bit tags, one for each
 * rank; a contribution that comes twice is then found where the sum is used, not where it arises,
 * and not at all if a replacement mends it.
 *
 * <p>Time grows with the number of transfers and chunks in them. Memory is 12 bytes for each rank
 * and each chunk of the largest lane, 12 for each chunk, and up to about 150 for each transfer of
 * the largest round; if several ranks complete a chunk, 20 more for each rank and chunk. A ring of
 * 4,096 ranks, with 33,546,240 transfers, takes about two seconds and 0.25 GB.
 */
public final class PlanVerifier {

  /** The number of transfers that a round may put on a link by default. */
  public static final int FRAMES_PER_LINK = 4;

  private static final long SEED = 0x636f6c6c65637469L;

  private PlanVerifier() {}

  /**
   * Verifies a plan with up to {@link #FRAMES_PER_LINK} transfers on a link in a round.
   *
   * @return the costs of the plan
   * @throws InvalidPlanException at the first rule that is broken
   */
  public static PlanFigures verify(Plan plan) {
    return verify(plan, FRAMES_PER_LINK, SEED);
  }

  /**
   * Verifies a plan.
   *
   * @param framesPerLink the number of transfers that a round may put on a link
   * @param seed the seed of the tags that stand for contributions if there are more than 64 ranks
   * @return the costs of the plan
   * @throws InvalidPlanException at the first rule that is broken
   */
  public static PlanFigures verify(Plan plan, int framesPerLink, long seed) {
    checkSize(plan);
    Ends ends = Ends.of(plan);
    LaneChunks laneChunks = LaneChunks.of(plan);
    checkCells(plan, laneChunks);
    if (plan.collective() == Collective.BARRIER) {
      return barrier(plan, laneChunks, ends, framesPerLink);
    }
    PlanContents contents =
        plan.ranks() <= Long.SIZE
            ? new PlanContents.Once(plan, laneChunks, ends)
            : new PlanContents.Sums(plan, laneChunks, ends, seed);
    PlanFigures figures = walk(plan, laneChunks, framesPerLink, contents);
    if (contents.hasSeveralOwners()) {
      walk(plan, laneChunks, framesPerLink, new SumOrders(plan, laneChunks, ends, seed));
    }
    return figures;
  }

  /**
   * Verifies a plan with up to {@link #FRAMES_PER_LINK} transfers on a link in a round, and that
   * each transfer goes over links that a mesh has.
   *
   * @param mesh a mesh with as many places as the plan has ranks
   * @return the costs of the plan
   * @throws InvalidPlanException at the first rule that is broken
   */
  public static PlanFigures verify(Plan plan, Mesh mesh) {
    return verify(plan, mesh, FRAMES_PER_LINK, SEED);
  }

  /**
   * Verifies a plan, and that each transfer goes over links that a mesh has.
   *
   * @param mesh a mesh with as many places as the plan has ranks
   * @param framesPerLink the number of transfers that a round may put on a link
   * @param seed the seed of the tags that stand for contributions if there are more than 64 ranks
   * @return the costs of the plan
   * @throws InvalidPlanException at the first rule that is broken
   */
  public static PlanFigures verify(Plan plan, Mesh mesh, int framesPerLink, long seed) {
    PlanFigures figures = verify(plan, framesPerLink, seed);
    MeshLinks.check(plan, mesh);
    return figures;
  }

  private static PlanFigures barrier(
      Plan plan, LaneChunks laneChunks, Ends ends, int framesPerLink) {
    PlanContents firstRanks = new PlanContents.Entered(plan, laneChunks, ends, 0);
    PlanFigures figures = walk(plan, laneChunks, framesPerLink, firstRanks);
    for (int first = Long.SIZE; first < plan.ranks(); first += Long.SIZE) {
      PlanContents more = new PlanContents.Entered(plan, laneChunks, ends, first);
      walk(plan, laneChunks, framesPerLink, more);
    }
    return figures;
  }

  private static PlanFigures walk(
      Plan plan, LaneChunks laneChunks, int framesPerLink, PlanContents contents) {
    PlanShape shape = new PlanShape(plan, laneChunks, framesPerLink);
    for (int lane = 0; lane < plan.lanes(); lane++) {
      contents.start(lane);
      for (int round = 0; round < plan.rounds(lane); round++) {
        shape.round(lane, round);
        contents.round(lane, round);
        plan.transfers(
            lane,
            round,
            (from, to, firstChunk, chunkCount, effect) -> {
              shape.transfer(from, to, firstChunk, chunkCount, effect);
              contents.transfer(from, to, firstChunk, chunkCount, effect);
            });
        contents.apply();
      }
      contents.end(lane);
    }
    return shape.figures();
  }

  private static void checkSize(Plan plan) {
    if (plan.ranks() < 1 || plan.chunks() < 1 || plan.lanes() < 1) {
      throw new InvalidPlanException(
          "a plan of "
              + plan.ranks()
              + " ranks, "
              + plan.chunks()
              + " chunks and "
              + plan.lanes()
              + " lanes: at least 1 of each is needed");
    }
    for (int lane = 0; lane < plan.lanes(); lane++) {
      if (plan.rounds(lane) < 0) {
        throw new InvalidPlanException("lane " + lane + " has " + plan.rounds(lane) + " rounds");
      }
    }
  }

  private static void checkCells(Plan plan, LaneChunks laneChunks) {
    if ((long) plan.ranks() * laneChunks.most() > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(
          "a plan of "
              + plan.ranks()
              + " ranks and "
              + plan.chunks()
              + " chunks is too large to verify: the product of the ranks and the chunks of a lane,"
              + " "
              + laneChunks.most()
              + ", must be less than 2^31");
    }
  }
}
