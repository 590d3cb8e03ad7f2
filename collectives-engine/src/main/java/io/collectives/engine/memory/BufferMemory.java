package io.collectives.engine.memory;

import java.nio.Buffer;
import java.nio.ByteBuffer;

/** A direct buffer in native order, from 0 to its capacity. */
final class BufferMemory extends FlatMemory {
  private final Buffer view;

  /**
   * {@code buffer} holds bytes or elements of the type; a view is made here, so that no call makes
   * one.
   */
  BufferMemory(Elements elements, Buffer buffer) {
    super(elements);
    view = elements.checkView(buffer instanceof ByteBuffer bytes ? elements.view(bytes) : buffer);
  }

  Buffer view() {
    return view;
  }

  @Override
  public long count() {
    return view.capacity();
  }

  @Override
  public void checkWritable() {
    if (view.isReadOnly()) {
      throw new IllegalArgumentException(
          "a read-only buffer of "
              + view.capacity()
              + " "
              + type()
              + " elements as the output of a call: it can only be an input; pass a writable"
              + " buffer");
    }
  }

  @Override
  void load(int from, int count, Object array, int at) {
    elements.get(view, from, array, at, count);
  }

  @Override
  void save(int to, int count, Object array, int at) {
    elements.put(view, to, array, at, count);
  }

  @Override
  void store(int from, int count, Buffer target, int at) {
    elements.copy(target, at, view, from, count);
  }

  @Override
  void replace(int to, int count, Buffer source, int at) {
    elements.copy(view, to, source, at, count);
  }
}
