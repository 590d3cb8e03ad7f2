package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.NonFiniteException;
import io.collectives.ReduceOp;

/** Finds out whose gradient is not a number, at all ranks, without a step being lost. */
public final class FindNaN {
  private FindNaN() {}

  /** As four processes, rank 0 prints "rank 2, element 5". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] gradients = new float[10];
    if (world.rank() == 2) {
      gradients[5] = Float.NaN;
    }
    try {
      world.checkingFinite().allReduce(gradients, ReduceOp.SUM);
      return "finite";
    } catch (NonFiniteException e) {
      return "rank " + e.worldRank() + ", element " + e.index();
    }
  }
}
