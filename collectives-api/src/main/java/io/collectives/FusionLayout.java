package io.collectives;

import io.collectives.BufferReduction.BufferLength;
import io.collectives.FusionBuffer.Slice;
import io.collectives.GradientReducer.Tensor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
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
    List<Fused> all = cut == null ? fuse(order) : cut(order, cut.bytes());
    all.sort(Comparator.comparingInt(fused -> fused.last));
    lanes = Math.max(1, Math.min(reduction.lanes(), all.size()));
    buffers = new FusionBuffer[all.size()];
    List<List<FusionBuffer>> some = new ArrayList<>();
    tensors.forEach(tensor -> some.add(new ArrayList<>(1)));
    for (int i = 0; i < buffers.length; i++) {
      buffers[i] = new FusionBuffer(i, lanes, all.get(i).slices);
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

  /** Tensors, or parts of them, that fit into a buffer. */
  private static final class Fused {
    final List<Slice> slices = new ArrayList<>();
    final long limit;
    long length;

    /** The place of the last one in the order. */
    int last;

    Fused(long limit) {
      this.limit = limit;
    }

    void add(Tensor tensor, long offset, long count, int place) {
      slices.add(new Slice(tensor, offset, count));
      length += count * tensor.payload.type().bytes();
      last = place;
    }

    /** Returns the number of elements of a type that still fit. */
    long room(ElementType type) {
      return (limit - length) / type.bytes();
    }
  }

  /** Puts whole tensors into buffers, in their order. */
  private List<Fused> fuse(int[] order) {
    Map<ElementType, Fused> open = new EnumMap<>(ElementType.class);
    List<Fused> all = new ArrayList<>();
    for (int place = 0; place < order.length; place++) {
      Tensor tensor = tensors.get(order[place]);
      ElementType type = tensor.payload.type();
      Fused fused = open.get(type);
      if (fused == null || fused.length + tensor.payload.length() > fused.limit) {
        fused = new Fused(all.isEmpty() ? settings.firstBufferLength() : settings.bufferLength());
        open.put(type, fused);
        all.add(fused);
      }
      fused.add(tensor, 0, tensor.payload.count(), place);
    }
    return all;
  }

  /** Puts tensors into buffers, in their order, and cuts them where a buffer is full. */
  private List<Fused> cut(int[] order, int length) {
    Map<ElementType, Fused> open = new EnumMap<>(ElementType.class);
    List<Fused> all = new ArrayList<>();
    for (int place = 0; place < order.length; place++) {
      Tensor tensor = tensors.get(order[place]);
      ElementType type = tensor.payload.type();
      long end = tensor.payload.count();
      long from = 0;
      do {
        Fused fused = open.get(type);
        if (fused == null || from < end && fused.room(type) == 0) {
          fused = new Fused(Math.max(type.bytes(), length));
          open.put(type, fused);
          all.add(fused);
        }
        long count = Math.min(end - from, fused.room(type));
        fused.add(tensor, from, count, place);
        from += count;
      } while (from < end);
    }
    return all;
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
