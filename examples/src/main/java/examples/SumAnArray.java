package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.util.Arrays;

/** Adds up an array of every rank, in place. */
public final class SumAnArray {
  private SumAnArray() {}

  /** As four processes, rank 0 prints "[6.0, 10.0]". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] values = {world.rank(), world.rank() + 1};
    world.allReduce(values, ReduceOp.SUM);
    return Arrays.toString(values);
  }
}
