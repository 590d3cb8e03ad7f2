package examples;

import io.collectives.Algorithm;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;

/** Sums in the order of ranks, so that the bits depend on neither algorithm nor buffers. */
public final class SameBitsEverywhere {
  private SameBitsEverywhere() {}

  /** As four processes, rank 0 prints "the same bits: true". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    double mine = Math.pow(10, world.rank()) / 3; // sums of these depend on the order
    Communicator ordered = world.using(Repeatability.RANK_ORDER);
    double direct = ordered.using(Algorithm.direct()).allReduce(mine, ReduceOp.SUM);
    double exchanged = ordered.using(Algorithm.exchange()).allReduce(mine, ReduceOp.SUM);
    return "the same bits: " + (direct == exchanged);
  }
}
