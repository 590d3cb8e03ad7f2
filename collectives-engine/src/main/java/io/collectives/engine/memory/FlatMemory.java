package io.collectives.engine.memory;

import io.collectives.spi.Region;
import java.nio.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * Memory of one part. Positions count from its first element; ranges were checked by {@link
 * Memory}.
 *
 * <p>Arrays, buffers and short runs of them differ in how a block gets into an array and how it
 * gets back. All kernels work on arrays with equal indexes; {@link Elements} says why.
 */
abstract class FlatMemory extends Memory {

  FlatMemory(Elements elements) {
    super(elements);
  }

  /** Copies elements into an array of the element's type. */
  abstract void load(int from, int count, Object array, int at);

  /** Copies elements from an array of the element's type. */
  abstract void save(int to, int count, Object array, int at);

  /** Copies elements into a buffer of the element's type. */
  abstract void store(int from, int count, Buffer target, int at);

  /** Copies elements from a buffer of the element's type. */
  abstract void replace(int to, int count, Buffer source, int at);

  /** Copies elements to another flat memory. */
  abstract void copyTo(FlatMemory target, int to, int count, int from);

  /** The array or buffer that this is a range of; nothing if it is one with gaps. */
  abstract @Nullable Object place();

  /** The array that this is a range of, if it is one. */
  @Nullable Object array() {
    return null;
  }

  /** The memory in the form in which kernels take it, if they can and it is no array. */
  @Nullable Object kernelMemory() {
    return null;
  }

  /** Returns the index in the array or buffer of the element at {@code position}. */
  int index(int position) {
    return position;
  }

  /** The region that this is a part of, if any. */
  abstract @Nullable Region region();

  @Override
  final int partAt(long position) {
    return 0;
  }

  @Override
  final FlatMemory part(int index) {
    return this;
  }

  @Override
  final int first(int index) {
    return 0;
  }

  @Override
  final long start(int index) {
    return 0;
  }

  @Override
  final long end(int index) {
    return count();
  }
}
