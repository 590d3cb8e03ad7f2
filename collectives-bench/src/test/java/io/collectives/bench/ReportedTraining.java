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
  private static final int TENSORS = 8;

  private static volatile List<byte[]> garbage = List.of();

  private ReportedTraining() {}

  /** Trains, and reports where COLLECTIVES_REPORT says. */
  public static void main(String[] args) {
    try (Communicator world = Collectives.join()) {
      train(world, args[0], Integer.parseInt(args[1]));
    }
  }

  /** Trains for some steps. */
  static void train(Communicator world, String how, int steps) {
    try (GradientReducer reducer =
        GradientReducer.of(world, FusionSettings.defaults().withBufferLength(1 << 16))) {
      List<Tensor> tensors = new ArrayList<>();
      for (int i = 0; i < TENSORS; i++) {
        tensors.add(reducer.register("<script>" + i, Payload.of(new float[10_000])));
      }
      for (int step = 0; step < steps; step++) {
        if (how.equals("sleeps") && world.rank() == 2 && step % 10 == 0) {
          sleep();
        }
        if (how.equals("litters") && world.rank() == 1) {
          litter();
        }
        reducer.loss(1.0 / (1 + step));
        tensors.forEach(reducer::ready);
        reducer.await();
      }
    }
  }

  private static void sleep() {
    try {
      Thread.sleep(300);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
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
