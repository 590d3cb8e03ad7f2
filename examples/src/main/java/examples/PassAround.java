package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;

/** Passes a message around a ring of ranks. */
public final class PassAround {
  private PassAround() {}

  /** As four processes, rank 0 prints "0123". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    int next = (world.rank() + 1) % world.size();
    int previous = (world.rank() + world.size() - 1) % world.size();
    int[] ranks = new int[world.size()];
    if (world.rank() > 0) {
      world.receive(Payload.of(ranks), previous);
    }
    ranks[world.rank()] = world.rank();
    world.send(Payload.of(ranks), next);
    if (world.rank() == 0) {
      world.receive(Payload.of(ranks), previous);
    }
    StringBuilder text = new StringBuilder();
    for (int rank : ranks) {
      text.append(rank);
    }
    return text.toString();
  }
}
