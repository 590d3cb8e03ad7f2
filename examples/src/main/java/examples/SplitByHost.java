package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Makes a group of the ranks of each host, and one of the first of each host. */
public final class SplitByHost {
  private SplitByHost() {}

  /** As four processes, rank 0 prints "rank 0 of 4 on this host, hosts: 1". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    List<String> hosts =
        world.allGatherBytes(world.host().getBytes(StandardCharsets.UTF_8)).stream()
            .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
            .toList();
    int first = hosts.indexOf(world.host()); // the first rank of this host stands for it
    try (Communicator host = world.split(first, world.rank())) {
      long leader = host.rank() == 0 ? 1 : 0;
      long count = world.allReduce(leader, ReduceOp.SUM);
      return "rank " + host.rank() + " of " + host.size() + " on this host, hosts: " + count;
    }
  }
}
