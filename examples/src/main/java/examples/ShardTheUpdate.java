package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.Arrays;

/** Updates a part of the weights at each rank, and puts the parts together. */
public final class ShardTheUpdate {
  private ShardTheUpdate() {}

  /** As four processes, rank 0 prints "[-0.5, -0.5, -0.5, -0.5, -0.5]". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] weights = {1, 1, 1, 1, 1};
    float[] gradients = new float[weights.length];
    Arrays.fill(gradients, world.rank());
    int start = (int) world.partStart(weights.length, world.rank());
    int count = (int) world.partCount(weights.length, world.rank());
    float[] mine = new float[count];
    world.reduceScatter(gradients, mine, ReduceOp.SUM);
    for (int i = 0; i < count; i++) {
      weights[start + i] -= 0.25f * mine[i];
    }
    Payload all = Payload.of(weights);
    world.allGather(all.slice(start, count), all);
    return Arrays.toString(weights);
  }
}
