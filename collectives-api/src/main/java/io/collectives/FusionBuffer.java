package io.collectives;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A fusion buffer of a {@link GradientReducer}, and how far it is in this step. Guarded by the
 * reducer's lock.
 */
final class FusionBuffer {
  /** What a buffer has of a tensor, mostly all of it. */
  record Slice(GradientReducer.Tensor tensor, long offset, long count) {
    Payload payload() {
      Payload whole = tensor.payload;
      return count == whole.count() ? whole : whole.slice(offset, count);
    }
  }

  final int index;
  final int lane;
  final List<Slice> slices;

  /** Where the gradients lie. */
  Payload payload;

  /** Whether they lie elsewhere since. */
  boolean isMoved;

  /** How many of the slices are not ready in this step. */
  int waiting;

  /** The reduction, once it has begun. */
  @Nullable CollectiveHandle handle;

  boolean isReduced;

  /** What the check of this step's reduction says. */
  @Nullable NonFiniteException nonFinite;

  FusionBuffer(int index, int lanes, List<Slice> slices) {
    this.index = index;
    this.lane = index % lanes;
    this.slices = slices;
    this.payload = describe(slices);
  }

  /** Begins a step: nothing is ready. */
  void clear() {
    nonFinite = null;
    waiting = slices.size();
    handle = null;
    isReduced = false;
  }

  /** Describes the buffer anew, if gradients lie in other memory than before. */
  void describeAgain() {
    if (isMoved) {
      payload = describe(slices);
      isMoved = false;
    }
  }

  /** The number at a position of the buffer. */
  NonFiniteGradient gradient(int worldRank, long position, double value) {
    long index = position;
    int i = 0;
    while (index >= slices.get(i).count) {
      index -= slices.get(i).count;
      i++;
    }
    Slice slice = slices.get(i);
    return new NonFiniteGradient(worldRank, slice.tensor.name, slice.offset + index, value);
  }

  private static Payload describe(List<Slice> slices) {
    return slices.size() == 1
        ? slices.get(0).payload()
        : Payload.of(slices.stream().map(Slice::payload).toList());
  }
}
