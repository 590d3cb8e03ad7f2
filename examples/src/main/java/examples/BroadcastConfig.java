package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import java.nio.charset.StandardCharsets;

/** Gives the configuration that rank 0 has read to all. */
public final class BroadcastConfig {
  private BroadcastConfig() {}

  /** As four processes, rank 0 prints "{rate=0.1, epochs=3}". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    String read = "{rate=0.1, epochs=3}"; // from a file, that only rank 0 has
    byte[] bytes = world.rank() == 0 ? read.getBytes(StandardCharsets.UTF_8) : null;
    return new String(world.broadcastBytes(bytes, 0), StandardCharsets.UTF_8);
  }
}
