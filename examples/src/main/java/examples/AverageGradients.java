package examples;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import java.util.Arrays;

/** Averages the gradients of a model while the backward pass goes on. */
public final class AverageGradients {
  private AverageGradients() {}

  /** As four processes, rank 0 prints "layer 3: 4.5". */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(run(world));
    }
  }

  static String run(Communicator world) {
    float[][] gradients = new float[20][10_000];
    try (GradientReducer reducer = GradientReducer.of(world, FusionSettings.defaults())) {
      GradientReducer.Tensor[] layers = new GradientReducer.Tensor[gradients.length];
      for (int i = 0; i < layers.length; i++) {
        layers[i] = reducer.register("layer " + i, Payload.of(gradients[i]));
      }
      for (int step = 0; step < 3; step++) {
        for (int i = layers.length - 1; i >= 0; i--) {
          Arrays.fill(gradients[i], world.rank() + i);
          reducer.ready(layers[i]);
        }
        reducer.await();
      }
    }
    return "layer 3: " + gradients[3][0];
  }
}
