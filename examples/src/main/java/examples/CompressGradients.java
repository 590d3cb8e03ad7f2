package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import java.util.Arrays;

/** Sends half of the bytes, and adds what rounding has taken to the next sum. */
public final class CompressGradients {
  private CompressGradients() {}

  /** As four processes, rank 0 prints "3.0 in bfloat16". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] gradients = new float[1000];
    Payload residual = Payload.of(new float[gradients.length]);
    Payload buffer = Payload.of(gradients);
    Communicator narrow = world.using(WireType.BFLOAT16);
    for (int step = 0; step < 3; step++) {
      Arrays.fill(gradients, 2 * world.rank());
      narrow.allReduce(buffer, buffer, ReduceOp.AVERAGE, residual);
    }
    return gradients[7] + " in bfloat16";
  }
}
