package io.collectives.internal;

import io.collectives.ElementType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The rule by which tensors, in the order in which their gradients become ready, are put into
 * fusion buffers. A {@link io.collectives.GradientReducer} lays out its buffers by it; so does a
 * model of a step, which has no gradients.
 */
public final class FusionRule {
  /** The number of buffers that a reducer by all-reduces has under way at once. */
  public static final int LANES = 2;

  private final List<ElementType> types;
  private final long[] counts;

  /** A range of the elements of a tensor, mostly all of them. */
  public record Slice(int tensor, long offset, long count) {}

  /**
   * A buffer.
   *
   * @param slices in the order in which they become ready; all are of one type
   * @param last the place in the order of the tensor that completes it
   * @param length in bytes
   */
  public record Buffer(List<Slice> slices, int last, long length) {}

  /** A buffer that is being filled. */
  private static final class Open {
    final List<Slice> slices = new ArrayList<>();
    final long limit;
    long length;
    int last;

    Open(long limit) {
      this.limit = limit;
    }

    /** Returns the number of elements of a type that still fit. */
    long room(ElementType type) {
      return (limit - length) / type.bytes();
    }
  }

  /**
   * A rule for some tensors.
   *
   * @param types of the elements of each
   * @param counts the number of elements of each
   */
  public FusionRule(List<ElementType> types, long[] counts) {
    this.types = List.copyOf(types);
    this.counts = counts.clone();
  }

  /**
   * Puts whole tensors into buffers; a tensor that is longer than a buffer has one of its own.
   *
   * @param order the tensors' indexes in the order in which they become ready
   * @param firstLength the most bytes of the first buffer
   * @param length the most bytes of the others
   * @return the buffers in the order in which they are complete
   */
  public List<Buffer> whole(int[] order, long firstLength, long length) {
    Map<ElementType, Open> open = new EnumMap<>(ElementType.class);
    List<Open> all = new ArrayList<>();
    for (int place = 0; place < order.length; place++) {
      int tensor = order[place];
      ElementType type = types.get(tensor);
      long bytes = counts[tensor] * type.bytes();
      Open buffer = open.get(type);
      if (buffer == null || buffer.length + bytes > buffer.limit) {
        buffer = new Open(all.isEmpty() ? firstLength : length);
        open.put(type, buffer);
        all.add(buffer);
      }
      add(buffer, tensor, 0, counts[tensor], place);
    }
    return buffers(all);
  }

  /**
   * Puts tensors into buffers, and cuts them where a buffer is full (Thangakrishnan et al. 2020,
   * <em>Herring</em>, section III-1).
   *
   * @param order as in {@link #whole}
   * @param length the bytes of all buffers of a type but its last one
   * @return the buffers in the order in which they are complete
   */
  public List<Buffer> cut(int[] order, long length) {
    Map<ElementType, Open> open = new EnumMap<>(ElementType.class);
    List<Open> all = new ArrayList<>();
    for (int place = 0; place < order.length; place++) {
      int tensor = order[place];
      ElementType type = types.get(tensor);
      long end = counts[tensor];
      long from = 0;
      do {
        Open buffer = open.get(type);
        if (buffer == null || from < end && buffer.room(type) == 0) {
          buffer = new Open(Math.max(type.bytes(), length));
          open.put(type, buffer);
          all.add(buffer);
        }
        long count = Math.min(end - from, buffer.room(type));
        add(buffer, tensor, from, count, place);
        from += count;
      } while (from < end);
    }
    return buffers(all);
  }

  private void add(Open to, int tensor, long offset, long count, int place) {
    to.slices.add(new Slice(tensor, offset, count));
    to.length += count * types.get(tensor).bytes();
    to.last = place;
  }

  private static List<Buffer> buffers(List<Open> all) {
    return all.stream()
        .map(open -> new Buffer(List.copyOf(open.slices), open.last, open.length))
        .sorted(Comparator.comparingInt(Buffer::last))
        .toList();
  }
}
