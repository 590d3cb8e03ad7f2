package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CollectiveBuffer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.JobSettings;
import io.collectives.Mesh;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import java.util.Arrays;

/**
 * What a rank runs that may be killed: says by which transports it is linked, sums until a rank is
 * lost or so many times, and says how that ended.
 */
final class SummingProgram {
  /** What it says when it has summed some times. */
  static final String SUMMING = "summing";

  private static final int COUNT = 100_000;

  private SummingProgram() {}

  /** Takes the name of an algorithm, or {@code buffer} for memory of the library; and how often. */
  public static void main(String[] arguments) {
    JobSettings job = Collectives.settings(System.getenv());
    Algorithm algorithm =
        switch (arguments[0]) {
          case "ring" -> Algorithm.ring();
          case "torus" -> Algorithm.torus(Mesh.torusOf(job.size()));
          case "direct", "buffer" -> Algorithm.direct();
          default -> throw new IllegalArgumentException(arguments[0]);
        };
    job = job.withCalls(job.calls().withAlgorithm(algorithm));
    int steps = Integer.parseInt(arguments[1]);
    try (Communicator world = Collectives.join(job)) {
      System.out.println(world.explain(0).transports());
      float[] gradients = new float[COUNT];
      CollectiveBuffer buffer =
          arguments[0].equals("buffer") ? world.allocate(ElementType.FLOAT32, COUNT) : null;
      for (int step = 1; step <= steps; step++) {
        Arrays.fill(gradients, world.rank() + step);
        if (buffer == null) {
          world.allReduce(gradients, ReduceOp.SUM);
        } else {
          buffer.floats().put(gradients);
          world.allReduce(buffer.payload(), ReduceOp.SUM);
          buffer.floats().get(gradients);
        }
        int expected = world.size() * (world.size() - 1) / 2 + world.size() * step;
        if (gradients[0] != expected || gradients[COUNT - 1] != expected) {
          throw new IllegalStateException(gradients[0] + " instead of " + expected);
        }
        if (step == 20) {
          System.out.println(SUMMING);
        }
      }
      System.out.println("done");
    } catch (RankFailedException e) {
      System.out.println("lost rank " + e.worldRank());
    }
  }
}
