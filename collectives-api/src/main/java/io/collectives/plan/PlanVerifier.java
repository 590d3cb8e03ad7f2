package io.collectives.plan;

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
 * <p><b>What holds for an all-reduce.</b> Before the first round each chunk of rank r holds the
 * contribution of r. No contribution reaches a chunk twice, and at the end every chunk of every
 * rank holds those of all ranks. A REPLACE carries a chunk that is complete. Each chunk becomes
 * complete by REDUCE at exactly one rank, its <em>owner</em>, and everywhere else by REPLACE: so
 * the owner may divide it (an average) or round it (a narrow wire type) before it goes on, and all
 * ranks end with the same bits whatever the order of sums.
 *
 * <p><b>What holds for a barrier.</b> It has one chunk, which stands for "these ranks have
 * entered"; REDUCE unites such sets, and hearing of a rank twice does no harm. At the end every
 * rank knows of every rank.
 *
 * <p>Up to 64 ranks, and for barriers of any size, the sets are exact and an error names the
 * contributor. All-reduces of more ranks are checked by sums of random 64-bit tags, one for each
 * rank; a contribution that comes twice is then found where the sum is used, not where it arises,
 * and not at all if a replacement mends it.
 *
 * <p>Time grows with the number of transfers and chunks in them. Memory is 12 bytes for each chunk
 * of each rank, and up to about 150 for each transfer of the largest round. A ring of 4,096 ranks,
 * with 33,546,240 transfers, takes about two seconds and 0.25 GB.
 */
public final class PlanVerifier {

  /** How many transfers a round may put on a link, unless said otherwise. */
  public static final int FRAMES_PER_LINK = 4;

  private static final long SEED = 0x636f6c6c65637469L;

  private PlanVerifier() {}

  /**
   * Verifies a plan with up to {@link #FRAMES_PER_LINK} transfers on a link in a round.
   *
   * @return what the plan costs
   * @throws InvalidPlanException at the first rule that is broken
   */
  public static PlanFigures verify(Plan plan) {
    return verify(plan, FRAMES_PER_LINK, SEED);
  }

  /**
   * Verifies a plan.
   *
   * @param framesPerLink how many transfers a round may put on a link
   * @param seed of the tags that stand for contributions if there are more than 64 ranks
   * @return what the plan costs
   * @throws InvalidPlanException at the first rule that is broken
   */
  public static PlanFigures verify(Plan plan, int framesPerLink, long seed) {
    checkSize(plan);
    return switch (plan.collective()) {
      case ALL_REDUCE ->
          walk(
              plan,
              framesPerLink,
              plan.ranks() <= Long.SIZE
                  ? new PlanContents.Once(plan)
                  : new PlanContents.Sums(plan, seed));
      case BARRIER -> barrier(plan, framesPerLink);
    };
  }

  private static PlanFigures barrier(Plan plan, int framesPerLink) {
    if (plan.chunks() != 1) {
      throw new InvalidPlanException("a barrier of " + plan.chunks() + " chunks: it has 1");
    }
    PlanFigures figures = walk(plan, framesPerLink, new PlanContents.Entered(plan, 0));
    for (int first = Long.SIZE; first < plan.ranks(); first += Long.SIZE) {
      walk(plan, framesPerLink, new PlanContents.Entered(plan, first));
    }
    return figures;
  }

  private static PlanFigures walk(Plan plan, int framesPerLink, PlanContents contents) {
    PlanShape shape = new PlanShape(plan, framesPerLink);
    contents.start();
    for (int lane = 0; lane < plan.lanes(); lane++) {
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
    }
    contents.end();
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
    if ((long) plan.ranks() * plan.chunks() > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(
          "a plan of "
              + plan.ranks()
              + " ranks and "
              + plan.chunks()
              + " chunks is too large to verify: their product must be less than 2^31");
    }
  }
}
