package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.spi.Region;
import java.nio.Buffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A range of an array. Can be bound to one array after the other, so that a call need not allocate
 * its memory.
 *
 * <p>Binding is not synchronized: whoever hands a bound memory to another thread must publish it
 * safely, and must not bind it again while others read it.
 */
public final class ArrayMemory extends FlatMemory {
  private final Object none;
  private Object array;
  private int offset;
  private int count;

  /** A memory of no elements, until it is bound. */
  public ArrayMemory(ElementType type) {
    super(ElementTypes.of(type));
    none = elements.newArray(0);
    array = none;
  }

  /** A memory of an array of its own, all zeros. */
  public static ArrayMemory ofZeros(ElementType type, int count) {
    ArrayMemory memory = new ArrayMemory(type);
    memory.bind(memory.elements.newArray(count), 0, count);
    return memory;
  }

  /**
   * Makes this the memory of {@code count} elements of {@code array} from {@code offset} on.
   *
   * @param array of the Java type that belongs to the element type
   */
  public void bind(Object array, int offset, int count) {
    Objects.checkFromIndexSize(offset, count, elements.arrayLength(array));
    this.array = array;
    this.offset = offset;
    this.count = count;
  }

  /** Lets go of the array; the memory has no elements then. */
  public void unbind() {
    bind(none, 0, 0);
  }

  @Override
  public long count() {
    return count;
  }

  @Override
  public void checkWritable() {}

  @Override
  @Nullable Region region() {
    return null;
  }

  @Override
  Object place() {
    return array;
  }

  @Override
  Object array() {
    return array;
  }

  @Override
  int index(int position) {
    return offset + position;
  }

  @Override
  @SuppressWarnings("SuspiciousSystemArraycopy")
  void load(int from, int count, Object target, int at) {
    System.arraycopy(array, offset + from, target, at, count);
  }

  @Override
  @SuppressWarnings("SuspiciousSystemArraycopy")
  void save(int to, int count, Object source, int at) {
    System.arraycopy(source, at, array, offset + to, count);
  }

  @Override
  void copyTo(FlatMemory target, int to, int count, int from) {
    target.save(to, count, array, offset + from);
  }

  @Override
  void store(int from, int count, Buffer target, int at) {
    elements.put(target, at, array, offset + from, count);
  }

  @Override
  void replace(int to, int count, Buffer source, int at) {
    elements.get(source, at, array, offset + to, count);
  }
}
