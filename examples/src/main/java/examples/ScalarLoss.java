package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;

/** Averages a loss and counts the samples of all ranks. */
public final class ScalarLoss {
  private ScalarLoss() {}

  /** As four processes, rank 0 prints "loss 0.75 of 406 samples". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    double loss = world.allReduce(world.rank() / 2.0, ReduceOp.AVERAGE);
    long samples = world.allReduce(100L + world.rank(), ReduceOp.SUM);
    return "loss " + loss + " of " + samples + " samples";
  }
}
