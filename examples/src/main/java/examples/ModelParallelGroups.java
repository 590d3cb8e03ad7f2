package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;

/** Divides ranks into groups that hold a model each, and averages among equal shards. */
public final class ModelParallelGroups {
  private ModelParallelGroups() {}

  /** As four processes, rank 0 prints "shard 0: 1.0". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    int ways = 2; // ranks 0 and 1 hold one model, 2 and 3 the other
    int shard = world.rank() % ways;
    try (Communicator replicas = world.strided(shard, ways, world.size() / ways)) {
      return "shard " + shard + ": " + replicas.allReduce((double) world.rank(), ReduceOp.AVERAGE);
    }
  }
}
