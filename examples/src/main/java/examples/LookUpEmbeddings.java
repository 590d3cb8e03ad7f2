package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import java.util.Arrays;

/** Sends each row of a table to the rank that asked for it. */
public final class LookUpEmbeddings {
  private LookUpEmbeddings() {}

  /** As four processes, rank 0 prints "rows [0, 0], [10, 10], [20, 20], [30, 30]". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    int ranks = world.size();
    float[] mine = new float[2 * ranks]; // a row of two numbers for each rank
    Arrays.fill(mine, 10 * world.rank());
    float[] got = new float[2 * ranks];
    world.allToAll(Payload.of(mine), Payload.of(got));
    StringBuilder text = new StringBuilder("rows");
    for (int from = 0; from < ranks; from++) {
      text.append(from == 0 ? " [" : ", [").append((int) got[2 * from]).append(", ");
      text.append((int) got[2 * from + 1]).append("]");
    }
    return text.toString();
  }
}
