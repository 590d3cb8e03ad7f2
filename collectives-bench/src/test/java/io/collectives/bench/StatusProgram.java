package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.util.concurrent.CountDownLatch;

/** Ranks that make some calls until one of them makes no more. */
public final class StatusProgram {
  /** The word of a rank that has joined. */
  static final String JOINED = "joined";

  private StatusProgram() {}

  /** Runs a rank. */
  public static void main(String[] args) throws InterruptedException {
    try (Communicator world = Collectives.join()) {
      System.out.println(JOINED);
      int late = world.size() > 2 ? 2 : 0;
      for (int step = 0; ; step++) {
        if (step == 3 && world.rank() == late) {
          loadBatch();
        }
        world.allReduce(new float[1000], ReduceOp.SUM);
      }
    }
  }

  private static void loadBatch() throws InterruptedException {
    new CountDownLatch(1).await();
  }
}
