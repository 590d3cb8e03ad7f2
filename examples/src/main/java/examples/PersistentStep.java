package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.ReduceOp;
import java.util.Arrays;

/** Prepares a call once and makes it in each step; the steps allocate nothing. */
public final class PersistentStep {
  private PersistentStep() {}

  /** As four processes, rank 0 prints "after 10 steps 1024.0". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] weights = new float[1000];
    Arrays.fill(weights, 1);
    Payload payload = Payload.of(weights);
    try (PersistentCall average = world.prepared().allReduce(payload, ReduceOp.AVERAGE)) {
      for (int step = 0; step < 10; step++) {
        for (int i = 0; i < weights.length; i++) {
          weights[i] *= 2;
        }
        average.run();
      }
    }
    return "after 10 steps " + weights[0];
  }
}
