package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.CommunicatorClosedException;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;

/** Goes on with the ranks that are left when one has died. */
public final class SurviveADeath {
  private SurviveADeath() {}

  /** As four processes, rank 0 prints "3 ranks: 3.0". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    Communicator group = world;
    while (true) {
      float[] values = {1};
      try {
        if (world.rank() == 3) {
          world.close(); // dies
        }
        group.allReduce(values, ReduceOp.SUM);
        return group.size() + " ranks: " + values[0];
      } catch (RankFailedException e) {
        group = group.shrink().group();
      } catch (CommunicatorClosedException e) {
        return "dead";
      }
    }
  }
}
