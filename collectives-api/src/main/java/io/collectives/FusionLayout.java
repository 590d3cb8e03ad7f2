package io.collectives;

import io.collectives.BufferReduction.BufferLength;
import io.collectives.FusionBuffer.Slice;
import io.collectives.GradientReducer.Tensor;
import io.collectives.internal.FusionRule;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The assignment of tensors, or parts of them, to fusion buffers. It is computed from the tensors,
 * their order and the settings, so that it is the same on all ranks.
 */
final class FusionLayout {
  /**
   * The buffers in the order in which they are complete on rank 0; buffer i is in lane {@code i %
   * lanes}.
   */
  final FusionBuffer[] buffers;

  final int lanes;

  /** The buffers that each tensor is in: one, or several if they are balanced. */
  private final FusionBuffer[][] ofTensors;

  private final List<Tensor> tensors;
  private final FusionSettings settings;

  /** The length of balanced buffers and its reason; null if buffers are not balanced. */
  private final @Nullable BufferLength cut;

  /**
   * Lays tensors out.
   *
   * @param order the tensors' indexes in the order in which they become ready
   * @param reduction the reduction that gives the most lanes and the length of balanced buffers
   */
  FusionLayout(
      List<Tensor> tensors, int[] order, FusionSettings settings, BufferReduction reduction) {
    this.tensors = tensors;
    this.settings = settings;
    this.cut = settings.balanced() ? cutLength(reduction) : null;
    FusionRule rule =
        new FusionRule(
            tensors.stream().map(tensor -> tensor.payload.type()).toList(),
            tensors.stream().mapToLong(tensor -> tensor.payload.count()).toArray());
    List<FusionRule.Buffer> all =
        cut == null
            ? rule.whole(order, settings.firstBufferLength(), settings.bufferLength())
            : rule.cut(order, cut.bytes());
    lanes = Math.max(1, Math.min(reduction.lanes(), all.size()));
    buffers = new FusionBuffer[all.size()];
    List<List<FusionBuffer>> some = new ArrayList<>();
    tensors.forEach(tensor -> some.add(new ArrayList<>(1)));
    for (int i = 0; i < buffers.length; i++) {
      buffers[i] = new FusionBuffer(i, lanes, slices(all.get(i)));
      for (Slice slice : buffers[i].slices) {
        some.get(slice.tensor().index).add(buffers[i]);
      }
    }
    ofTensors =
        some.stream().map(of -> of.toArray(FusionBuffer[]::new)).toArray(FusionBuffer[][]::new);
  }

  /** Returns the buffers that hold a tensor. */
  FusionBuffer[] of(Tensor tensor) {
    return ofTensors[tensor.index];
  }

  private List<Slice> slices(FusionRule.Buffer buffer) {
    return buffer.slices().stream()
        .map(slice -> new Slice(tensors.get(slice.tensor()), slice.offset(), slice.count()))
        .toList();
  }

  private BufferLength cutLength(BufferReduction reduction) {
    return settings.bufferLength() > 0
        ? new BufferLength(settings.bufferLength(), "as it was set")
        : reduction.balancedLength(length(tensors));
  }

  /** Returns the number of bytes of tensors. */
  static long length(List<Tensor> tensors) {
    return tensors.stream().mapToLong(tensor -> tensor.payload.length()).sum();
  }

  /** Returns what all ranks must have in common. */
  static String registered(
      List<Tensor> tensors, FusionSettings settings, BufferReduction reduction) {
    StringBuilder text = new StringBuilder();
    text.append(settings).append(" and ").append(reduction.lanes()).append(" lanes\n");
    for (Tensor tensor : tensors) {
      text.append(tensor).append(" of ").append(tensor.shape()).append('\n');
    }
    return text.toString();
  }

  /** Describes how tensors are fused and why the buffers have their length. */
  String explain() {
    String what = length(tensors) + " bytes of " + tensors.size() + " tensors in " + buffers.length;
    return cut == null
        ? what
            + " buffers of whole tensors of up to "
            + settings.bufferLength()
            + " bytes, the first up to "
            + settings.firstBufferLength()
        : what + " balanced buffers of up to " + cut.bytes() + " bytes: " + cut.reason();
  }
}
