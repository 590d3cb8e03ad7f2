package io.collectives.bench.perf;

import io.collectives.Payload;
import java.util.List;

/** Copies between tensors in float arrays of their own and one array. */
final class TensorCopies {
  private TensorCopies() {}

  /** Writes all tensors into an array, one after the other. */
  static void copyTo(float[] buffer, List<Payload.OfArray> tensors) {
    int at = 0;
    for (Payload.OfArray tensor : tensors) {
      System.arraycopy(tensor.array(), tensor.offset(), buffer, at, (int) tensor.count());
      at += (int) tensor.count();
    }
  }

  /** The other way round. */
  static void copyFrom(float[] buffer, List<Payload.OfArray> tensors) {
    int at = 0;
    for (Payload.OfArray tensor : tensors) {
      System.arraycopy(buffer, at, tensor.array(), tensor.offset(), (int) tensor.count());
      at += (int) tensor.count();
    }
  }
}
