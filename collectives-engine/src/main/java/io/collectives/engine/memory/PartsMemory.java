package io.collectives.engine.memory;

import io.collectives.Payload;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Ranges of flat memories in a row; may have more than 2^31 elements. Parts without elements are
 * left out; long runs of a strided payload are a part each, so that each is a bulk copy or a vector
 * loop.
 */
final class PartsMemory extends Memory {
  private final FlatMemory[] parts;

  /** Part i begins with this element of its flat memory. */
  private final int[] firsts;

  /** Part i holds positions {@code [starts[i], starts[i+1])}. */
  private final long[] starts;

  /** A payload whose runs overlap, if there is any. */
  private Payload.@Nullable OfStrided overlapping;

  PartsMemory(Elements elements, List<Payload> payloads, Function<Payload, FlatMemory> flat) {
    super(elements);
    int size = payloads.stream().mapToInt(PartsMemory::partsOf).reduce(0, Math::addExact);
    parts = new FlatMemory[size];
    firsts = new int[size];
    starts = new long[size + 1];
    int next = 0;
    for (Payload payload : payloads) {
      if (isRuns(payload)) {
        next = addRuns(next, (Payload.OfStrided) payload, flat);
      } else if (payload.count() > 0) {
        next = add(next, flat.apply(payload), 0, payload.count());
      }
    }
  }

  private static boolean isRuns(Payload payload) {
    return payload instanceof Payload.OfStrided strided && !StridedMemory.isWorthwhile(strided);
  }

  private static int partsOf(Payload payload) {
    return isRuns(payload) ? ((Payload.OfStrided) payload).runs() : payload.count() > 0 ? 1 : 0;
  }

  private int addRuns(int index, Payload.OfStrided strided, Function<Payload, FlatMemory> flat) {
    if (strided.overlaps()) {
      overlapping = strided;
    }
    FlatMemory base = flat.apply(strided.base());
    for (int i = 0; i < strided.runs(); i++) {
      add(index + i, base, i * strided.stride(), strided.run());
    }
    return index + strided.runs();
  }

  private int add(int index, FlatMemory memory, int first, long count) {
    parts[index] = memory;
    firsts[index] = first;
    starts[index + 1] = Math.addExact(starts[index], count);
    return index + 1;
  }

  @Override
  public long count() {
    return starts[parts.length];
  }

  @Override
  public void checkWritable() {
    if (overlapping != null) {
      throw StridedMemory.notWritable(overlapping);
    }
    for (FlatMemory part : parts) {
      part.checkWritable();
    }
  }

  @Override
  int partAt(long position) {
    int found = Arrays.binarySearch(starts, position);
    return found >= 0 ? found : -found - 2;
  }

  @Override
  FlatMemory part(int index) {
    return parts[index];
  }

  @Override
  int first(int index) {
    return firsts[index];
  }

  @Override
  long start(int index) {
    return starts[index];
  }

  @Override
  long end(int index) {
    return starts[index + 1];
  }
}
