package examples;

import io.collectives.CallTimeoutException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.time.Duration;

/** Gives a call a deadline of its own; the error names who is late. */
public final class WaitNotForever {
  private WaitNotForever() {}

  /** As four processes, rank 0 prints "rank 1 is named: true". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    try (Communicator group = world.group(0, 1, 2, 3)) {
      if (world.rank() == 1) {
        world.barrier(); // and never calls what the others call
        return "late";
      }
      try {
        group.within(Duration.ofMillis(300)).allReduce(1.0, ReduceOp.SUM);
        return "nobody is late";
      } catch (CallTimeoutException e) {
        world.barrier();
        return "rank 1 is named: " + e.getMessage().contains("rank 1");
      }
    }
  }
}
