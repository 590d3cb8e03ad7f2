package io.collectives.engine.memory;

import io.collectives.Payload;
import java.util.Arrays;
import java.util.List;

/**
 * Flat memories in a row; may have more than 2^31 elements. Parts without elements are left out.
 */
final class PartsMemory extends Memory {
  private final FlatMemory[] parts;

  /** Part i holds positions {@code [starts[i], starts[i+1])}. */
  private final long[] starts;

  PartsMemory(Elements elements, List<Payload> payloads) {
    super(elements);
    parts =
        payloads.stream()
            .filter(payload -> payload.count() > 0)
            .map(payload -> (FlatMemory) of(payload))
            .toArray(FlatMemory[]::new);
    starts = new long[parts.length + 1];
    for (int i = 0; i < parts.length; i++) {
      starts[i + 1] = Math.addExact(starts[i], parts[i].count());
    }
  }

  @Override
  public long count() {
    return starts[parts.length];
  }

  @Override
  public void checkWritable() {
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
  long start(int index) {
    return starts[index];
  }

  @Override
  long end(int index) {
    return starts[index + 1];
  }
}
