package io.collectives.all;

import io.collectives.Algorithm;
import io.collectives.CollectiveBuffer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.JobSettings;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A program that may be killed, which says by which transports it is linked, sums until a rank is
 * lost or so many times, and says how that ended.
 */
final class SummingProgram {
  /** The line that it prints when it has summed some times. */
  static final String SUMMING = "summing";

  private static final int COUNT = 100_000;

  private SummingProgram() {}

  /**
   * Takes {@code ring}, {@code buffer} for memory of the library, or {@code both} for one after the
   * other; and how often.
   */
  public static void main(String[] arguments) {
    JobSettings job = Collectives.settings(System.getenv());
    Algorithm first = arguments[0].equals("buffer") ? Algorithm.direct() : Algorithm.ring();
    job = job.withCalls(job.calls().withAlgorithm(first));
    int steps = Integer.parseInt(arguments[1]);
    try (Communicator world = Collectives.join(job)) {
      System.out.println(world.explain(0).transports());
      if (!arguments[0].equals("buffer")) {
        sum(world, steps, null);
      }
      if (!arguments[0].equals("ring")) {
        Communicator direct = world.using(Algorithm.direct());
        sum(direct, steps, direct.allocate(ElementType.FLOAT32, COUNT));
      }
      System.out.println("done");
    } catch (RankFailedException e) {
      System.out.println("lost rank " + e.worldRank());
    }
  }

  private static void sum(Communicator world, int steps, @Nullable CollectiveBuffer buffer) {
    float[] gradients = new float[COUNT];
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
  }
}
