package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.Arrays;

/** Averages a part of an array, and leaves the rest alone. */
public final class AverageOfParts {
  private AverageOfParts() {}

  /** As four processes, rank 0 prints "[0.0, 1.5, 1.5, 0.0]". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] values = {0, world.rank(), world.rank(), 0};
    world.allReduce(Payload.of(values, 1, 2), ReduceOp.AVERAGE);
    return Arrays.toString(values);
  }
}
