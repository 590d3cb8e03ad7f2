package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.ps.ParameterServers;
import io.collectives.ps.Roles;
import java.util.Arrays;

/** Averages gradients by a rank that does nothing else. */
public final class ParameterServer {
  private ParameterServer() {}

  /** As four processes, rank 0 prints "average 1.0 of 3 workers". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] gradients = new float[1000];
    Roles roles = Roles.dedicated(world.size(), 1);
    try (ParameterServers servers = ParameterServers.of(world, roles)) {
      if (!servers.isWorker()) {
        servers.serve(); // until the workers close
        return "served";
      }
      Communicator workers = servers.workers();
      FusionSettings fusion = FusionSettings.balancedBuffers();
      try (GradientReducer reducer =
          GradientReducer.of(workers, fusion, servers.reduction())) {
        GradientReducer.Tensor layer = reducer.register("layer", Payload.of(gradients));
        Arrays.fill(gradients, world.rank());
        reducer.ready(layer);
        reducer.await();
      }
      return "average " + gradients[0] + " of " + workers.size() + " workers";
    }
  }
}
