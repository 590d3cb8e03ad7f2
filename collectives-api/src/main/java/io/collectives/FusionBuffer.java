package io.collectives;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A fusion buffer of a {@link GradientReducer} and its state in this step. It is guarded by the
 * reducer's lock.
 */
final class FusionBuffer {
  /** The range of a tensor that lies in a buffer, mostly all of it. */
  record Slice(GradientReducer.Tensor tensor, long offset, long count) {
    Payload payload() {
      Payload whole = tensor.payload;
      return count == whole.count() ? whole : whole.slice(offset, count);
    }
  }

  final int index;
  final int lane;
  final List<Slice> slices;

  /** The memory of the gradients. */
  Payload payload;

  /** True if gradients have been given other memory since {@link #payload} was made. */
  boolean isMoved;

  /** The number of slices that are not ready in this step. */
  int waiting;

  /** The reduction, once it has begun. */
  @Nullable CollectiveHandle handle;

  boolean isReduced;

  /** The result of the check of this step's reduction; null if all numbers are finite. */
  @Nullable NonFiniteException nonFinite;

  FusionBuffer(int index, int lanes, List<Slice> slices) {
    this.index = index;
    this.lane = index % lanes;
    this.slices = slices;
    this.payload = describe(slices);
  }

  /** Begins a step, in which no slice is ready yet. */
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

  /** Returns the gradient at a position of the buffer. */
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

  /** Returns its number, for people. */
  @Override
  public String toString() {
    return "buffer " + index;
  }

  /** Returns the first finding of the step's checks, in an order that is the same on all ranks. */
  static Optional<NonFiniteGradient> lowestFinding(FusionBuffer[] buffers) {
    NonFiniteException lowest = null;
    FusionBuffer in = null;
    for (FusionBuffer buffer : buffers) {
      NonFiniteException found = buffer.nonFinite;
      if (found != null && (lowest == null || place(found) < place(lowest))) {
        lowest = found;
        in = buffer;
      }
    }
    return in == null || lowest == null
        ? Optional.empty()
        : Optional.of(in.gradient(lowest.worldRank(), lowest.index(), lowest.value()));
  }

  /** Returns the order of a finding: by rank, results last. */
  private static int place(NonFiniteException found) {
    return found.worldRank() < 0 ? Integer.MAX_VALUE : found.worldRank();
  }

  private static Payload describe(List<Slice> slices) {
    return slices.size() == 1
        ? slices.get(0).payload()
        : Payload.of(slices.stream().map(Slice::payload).toList());
  }
}
