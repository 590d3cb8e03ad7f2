package examples;

import io.collectives.CollectiveBuffer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.ReduceOp;

/** Reduces memory that the communicator has allocated, which needs no copies on one host. */
public final class SharedMemoryBuffer {
  private SharedMemoryBuffer() {}

  /** As four processes, rank 0 prints "6.0". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    try (CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 1000)) {
      buffer.floats().put(999, world.rank());
      world.allReduce(buffer.payload(), ReduceOp.SUM);
      return "" + buffer.floats().get(999);
    }
  }
}
