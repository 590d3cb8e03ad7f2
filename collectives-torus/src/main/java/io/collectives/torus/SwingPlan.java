package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import io.collectives.plan.Transfer;

/**
 * The Swing plan, which is halving and doubling with partners that are near on a ring. In round s
 * of the reduce-scatter a rank exchanges data with the one that is d(s) = 1 - 2 + 4 - … + (-2)^s
 * places away, so 1, 1, 3, 5, 11, …, where halving and doubling goes 1, 2, 4, 8, 16, …; even ranks
 * go one way and odd ones the other, and both change direction from round to round. The all-gather
 * goes the same way back (De Sensi, Bonato, Saam and Hoefler 2024, section 3; this is the version
 * that sends the least bytes, on a torus of one dimension).
 *
 * <p>With p the largest power of two up to n, the plan has p chunks and 1 lane. With p places in a
 * ring, the partner of place x in round s is x + d(s) if x is even and x - d(s) if it is odd,
 * modulo p. Of each of the first n-p pairs of neighbours (2i, 2i+1) only the lower rank has a
 * place, as in {@link RecursiveDoublingPlan}: the upper one first sends it all that it has, and
 * last receives the whole result from it.
 *
 * <p>A place owns the chunk {@link Ring#chunk}. In round s two partners divide a block of chunks
 * between them, that of all places which either can still reach. These are the even ones that are
 * congruent modulo 2^(s+1), and the odd ones d(s) from them; because later distances are congruent
 * to d(s), too, blocks lie within each other, and chunks are numbered such that each is a range: a
 * transfer is one frame.
 *
 * <p>A place adds the sums of its partners to its own contribution in the order of rounds; each of
 * these sums was added up in the same way.
 *
 * <p>Steps: 2 log2 p, and 2 more if n is no power of two. Bytes: each of the p ranks sends
 * 2M(p-1)/p, which is 2M(n-1)/n if n is p; one with an upper neighbour sends M more, and that
 * neighbour M.
 *
 * <p>Other collectives are those of {@link HalvingDoublingPlan}: where ranks own the chunks of
 * their own number, blocks of this plan are no ranges.
 */
final class SwingPlan {
  private SwingPlan() {}

  static Plan of(PlanRequest request) {
    if (request.collective() != Collective.ALL_REDUCE) {
      return HalvingDoublingPlan.of(request);
    }
    PowerOfTwoCore core = PowerOfTwoCore.of(request.ranks());
    return Plan.of(request, core.count(), new Ring(core).allReduce());
  }

  /** The core ranks, arranged in a ring. */
  private record Ring(PowerOfTwoCore core) {

    Rounds allReduce() {
      int levels = core.levels();
      return core.allReduce(
          core.count(),
          Rounds.of(levels, (round, sink) -> exchange(round, Effect.REDUCE, sink))
              .then(
                  Rounds.of(
                      levels,
                      (round, sink) -> exchange(levels - 1 - round, Effect.REPLACE, sink))));
    }

    /**
     * Lists the transfers of a round: a sum goes to the place that can still reach its owner, a
     * result comes from there.
     */
    private void exchange(int step, Effect effect, Transfer.Sink sink) {
      int length = core.count() >> (step + 1);
      for (int place = 0; place < core.count(); place++) {
        int partner = partner(place, step);
        int block = chunk(effect == Effect.REDUCE ? partner : place) & -length;
        sink.transfer(core.rank(place), core.rank(partner), block, length, effect);
      }
    }

    private int partner(int place, int step) {
      return (place % 2 == 0 ? place + distance(step) : place - distance(step))
          & (core.count() - 1);
    }

    /** Returns {@code 1 - 2 + 4 - … + (-2)^step}. */
    private static int distance(int step) {
      return (1 - (step % 2 == 0 ? -2 << step : 2 << step)) / 3;
    }

    /**
     * Returns the chunk that a place owns. Each even place shares the last block with one odd
     * place, and has the lower chunk of it; blocks follow each other such that two even places are
     * in one block as long as the last digits of their numbers are the same.
     */
    private int chunk(int place) {
      int even = place % 2 == 0 ? place : partner(place, core.levels() - 1);
      return (Integer.reverse(even >> 1) >>> (Integer.SIZE - core.levels())) + place % 2;
    }
  }
}
