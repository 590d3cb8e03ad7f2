package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Tells every rank what each of them is called. */
public final class GatherTexts {
  private GatherTexts() {}

  /** As four processes, rank 0 prints "[a, bb, ccc, dddd]". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    String name = "abcd".substring(world.rank(), world.rank() + 1).repeat(world.rank() + 1);
    List<byte[]> all = world.allGatherBytes(name.getBytes(StandardCharsets.UTF_8));
    return all.stream().map(bytes -> new String(bytes, StandardCharsets.UTF_8)).toList().toString();
  }
}
