package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.GradientReducer.Tensor;
import io.collectives.Payload;
import java.util.ArrayList;
import java.util.List;

/** A rank of a job of which one rank is slow, as the argument says: by sleep, or by garbage. */
public final class ReportedTraining {
  private static final int STEPS = 45;
  private static final int TENSORS = 8;

  private static volatile List<byte[]> garbage = List.of();

  private ReportedTraining() {}

  /** Trains, and reports where COLLECTIVES_REPORT says. */
  public static void main(String[] args) throws Exception {
    try (Communicator world = Collectives.join();
        GradientReducer reducer =
            GradientReducer.of(world, FusionSettings.defaults().withBufferLength(1 << 16))) {
      List<Tensor> tensors = new ArrayList<>();
      for (int i = 0; i < TENSORS; i++) {
        tensors.add(reducer.register("<script>" + i, Payload.of(new float[10_000])));
      }
      for (int step = 0; step < STEPS; step++) {
        if (args[0].equals("sleeps") && world.rank() == 2 && step % 10 == 0) {
          Thread.sleep(300);
        }
        if (args[0].equals("litters") && world.rank() == 1) {
          litter();
        }
        reducer.loss(1.0 / (1 + step));
        tensors.forEach(reducer::ready);
        reducer.await();
      }
    }
  }

  private static void litter() {
    List<byte[]> kept = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      kept.add(new byte[1 << 18]);
    }
    garbage = kept;
    System.gc();
    System.gc();
  }
}
