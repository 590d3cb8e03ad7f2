package io.collectives.plan;

import io.collectives.Collective;
import java.util.ArrayList;
import java.util.List;

/**
 * A collective, written from above for all ranks at once: lanes of rounds of {@link Transfer}s
 * between chunks.
 *
 * <p>The payload is cut into {@link #chunks} ranges of equal length (to within one element), chunk
 * 0 first. A lane is a sequence of rounds on chunks of its own; lanes run side by side. The
 * transfers of a round may all be under way at once, and each carries what its chunks held when the
 * round began.
 *
 * <p>A plan is a pure function: immutable, usable by any thread, and the same each time it is
 * asked. Rounds are generated when asked for and never held, because a ring of 4,096 ranks has 33
 * million transfers. It knows no bytes, no sockets and no threads; an engine moves bytes by it, a
 * {@link PlanVerifier} moves sets of contributors.
 *
 * <p>When several transfers of one round reduce into the same chunk of the same rank, they are
 * combined in the order in which the round names them; so the bits of a sum do not depend on
 * timing.
 */
public interface Plan {

  /**
   * The plan with the given lanes.
   *
   * @param ranks at least 1
   * @param chunks at least 1
   * @param lanes at least one; they use no chunk in common
   */
  static Plan of(Collective collective, int ranks, int chunks, Rounds... lanes) {
    return new LanePlan(collective, ranks, chunks, List.of(lanes));
  }

  /** What it does; the verifier proves that it does. */
  Collective collective();

  /** The number of ranks in the group. */
  int ranks();

  /** The number of chunks, at least 1. */
  int chunks();

  /** The number of lanes, at least 1. */
  int lanes();

  /** The number of rounds of a lane. */
  int rounds(int lane);

  /** Names the transfers of a round, in the same order each time. */
  void transfers(int lane, int round, Transfer.Sink sink);

  /** The transfers of a round as a list, for people and tests. */
  default List<Transfer> transfers(int lane, int round) {
    List<Transfer> list = new ArrayList<>();
    transfers(
        lane,
        round,
        (from, to, first, count, effect) -> list.add(new Transfer(from, to, first, count, effect)));
    return list;
  }
}
