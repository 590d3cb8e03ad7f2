package examples;

import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.Arrays;
import java.util.stream.IntStream;

/** Computes while an all-reduce is under way. */
public final class OverlapWithWork {
  private OverlapWithWork() {}

  /** As four processes, rank 0 prints "sum 60.0, meanwhile 4950". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] gradients = new float[100_000];
    Arrays.fill(gradients, 10 * world.rank());
    CollectiveHandle sum = world.async().allReduce(Payload.of(gradients), ReduceOp.SUM);
    int work = IntStream.range(0, 100).sum(); // gradients belong to the library until await returns
    sum.await();
    return "sum " + gradients[99_999] + ", meanwhile " + work;
  }
}
