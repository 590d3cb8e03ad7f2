package io.collectives.plan;

import io.collectives.Collective;
import java.util.ArrayList;
import java.util.List;

/**
 * A collective as a schedule for all ranks at once: lanes of rounds of {@link Transfer}s between
 * chunks.
 *
 * <p>The payload is cut into {@link #chunks} ranges of equal length (to within one element), chunk
 * 0 first. A lane is a sequence of rounds on chunks of its own; lanes run side by side. The
 * transfers of a round may all be under way at once, and each carries what its chunks held when the
 * round began.
 *
 * <p>Chunks have the same numbers at all ranks. Where the payload is distributed over n ranks there
 * are n k chunks, and part i, which belongs to rank i, consists of the k chunks from i k on. The
 * payload of an all-to-all consists of those of all ranks, one after the other: n n k chunks, of
 * which the k from (i n + j) k on are the data that rank i sends to rank j.
 *
 * <p>A plan is a pure function: immutable, usable by any thread, and the same each time it is
 * asked. Rounds are generated when asked for and never held, because a ring of 4,096 ranks has 33
 * million transfers. A plan knows no bytes, no sockets and no threads; an engine moves bytes by it,
 * and a {@link PlanVerifier} moves sets of contributors.
 *
 * <p>When several transfers of one round reduce into the same chunk of the same rank, they are
 * combined in the order in which the round lists them, or, in an exchange (see {@link
 * PlanVerifier}), in the order of ranks; so the bits of a sum do not depend on timing.
 */
public interface Plan {

  /**
   * Makes a plan of the given lanes.
   *
   * @param chunks the number of chunks, at least 1
   * @param lanes the lanes, at least one; they use no chunk in common
   */
  static Plan of(PlanRequest request, int chunks, Rounds... lanes) {
    return of(request, request.ranks(), chunks, lanes);
  }

  /**
   * Makes a plan of the given lanes for an all-reduce in which some ranks only serve.
   *
   * @param contributors see {@link #contributors()}
   * @param chunks the number of chunks, at least 1
   * @param lanes the lanes, at least one; they use no chunk in common
   */
  static Plan of(PlanRequest request, int contributors, int chunks, Rounds... lanes) {
    return new LanePlan(request, contributors, chunks, List.of(lanes));
  }

  /**
   * Makes a plan of the given lanes for a collective without a root or with rank 0 as its root.
   *
   * @param ranks the number of ranks, at least 1
   * @param chunks the number of chunks, at least 1
   * @param lanes the lanes, at least one; they use no chunk in common
   */
  static Plan of(Collective collective, int ranks, int chunks, Rounds... lanes) {
    return of(PlanRequest.of(collective, ranks), chunks, lanes);
  }

  /** Returns the collective that the plan performs; the verifier proves that it does. */
  Collective collective();

  /** Returns the number of ranks in the group. */
  int ranks();

  /** Returns the root of a {@linkplain Collective#rooted rooted} collective; 0 if it has none. */
  default int root() {
    return 0;
  }

  /**
   * Returns the number of ranks that contribute and get the result: ranks 0 to {@code
   * contributors() - 1}. The other ranks, which exist only in an all-reduce, serve them. A chunk of
   * a rank that serves holds nothing at first, so the first contribution is put there, and those
   * that follow are added to it.
   */
  default int contributors() {
    return ranks();
  }

  /** Returns the number of chunks, at least 1. */
  int chunks();

  /** Returns the number of lanes, at least 1. */
  int lanes();

  /** Returns the number of rounds of a lane. */
  int rounds(int lane);

  /** Passes the transfers of a round to a sink, in the same order each time. */
  void transfers(int lane, int round, Transfer.Sink sink);

  /** Returns the transfers of a round as a list, for people and tests. */
  default List<Transfer> transfers(int lane, int round) {
    List<Transfer> list = new ArrayList<>();
    transfers(
        lane,
        round,
        (from, to, first, count, effect) -> list.add(new Transfer(from, to, first, count, effect)));
    return list;
  }
}
