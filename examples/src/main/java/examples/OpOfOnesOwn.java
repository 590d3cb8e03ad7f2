package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.UserOp;

/** Finds the greatest value and the rank that has it, by an op of its own. */
public final class OpOfOnesOwn {
  private OpOfOnesOwn() {}

  /** As four processes, rank 0 prints "rank 2 has 9.0". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[] values = {3, 7, 9, 5};
    float mine = values[world.rank()];
    UserOp greatest =
        UserOp.commutative("argmax")
            .withLongs((left, right) -> value(left) >= value(right) ? left : right);
    long[] found = {(long) Float.floatToIntBits(mine) << 32 | world.rank()};
    world.allReduce(found, greatest);
    return "rank " + (int) found[0] + " has " + value(found[0]);
  }

  /** The upper half, as a number; the lower half is the rank. */
  private static float value(long packed) {
    return Float.intBitsToFloat((int) (packed >> 32));
  }
}
