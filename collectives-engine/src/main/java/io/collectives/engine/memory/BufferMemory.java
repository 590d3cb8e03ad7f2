package io.collectives.engine.memory;

import io.collectives.CollectiveBuffer;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.Region;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * A direct buffer in native order, from 0 to its capacity; maybe a part of a region, or all of one
 * after the other.
 */
public final class BufferMemory extends FlatMemory {
  private final @Nullable Region region;
  private final int regionOffset;
  private Buffer view;
  private @Nullable Object kernelMemory;

  /**
   * {@code buffer} holds bytes or elements of the type; a view is made here, so that no call makes
   * one.
   */
  BufferMemory(Elements elements, Buffer buffer) {
    this(elements, buffer, null, 0);
  }

  /**
   * Makes the memory of a buffer that begins {@code regionOffset} bytes from the beginning of a
   * region.
   */
  BufferMemory(Elements elements, Buffer buffer, @Nullable Region region, int regionOffset) {
    super(elements);
    this.region = region;
    this.regionOffset = regionOffset;
    view = elements.checkView(buffer instanceof ByteBuffer bytes ? elements.view(bytes) : buffer);
    kernelMemory = Kernels.memory(buffer);
  }

  static BufferMemory of(Payload.OfCollectiveBuffer range) {
    CollectiveBuffer buffer = range.buffer();
    Elements elements = ElementTypes.of(range.type());
    int offset = Math.toIntExact(range.offset() * range.type().bytes());
    int length = Math.toIntExact(range.count() * range.type().bytes());
    return new BufferMemory(
        elements,
        buffer.bytes().slice(offset, length).order(ByteOrder.LITTLE_ENDIAN),
        buffer instanceof InRegion in ? in.region() : null,
        offset);
  }

  /**
   * A memory of elements that lie in a region.
   *
   * @param offset the byte of the region with which the first begins
   */
  public static BufferMemory in(Region region, ElementType type, int offset, int count) {
    return new BufferMemory(
        ElementTypes.of(type),
        region.bytes().slice(offset, count * type.bytes()).order(ByteOrder.LITTLE_ENDIAN),
        region,
        offset);
  }

  /** A buffer that may lie in a region. */
  public interface InRegion extends CollectiveBuffer {
    /** The region whose first byte is its first, if there is one. */
    @Nullable Region region();
  }

  /** A memory of no elements, until it is bound. */
  public static BufferMemory unbound(ElementType type) {
    return new BufferMemory(ElementTypes.of(type), ByteBuffer.allocateDirect(0));
  }

  /** Makes this the memory of all that a frame, or a peer's region, holds. */
  public void bind(FrameBytes bytes) {
    view = elements.view(bytes);
    kernelMemory = Kernels.memory(bytes);
  }

  @Override
  public @Nullable Region region() {
    return region;
  }

  /** The byte of the region at which an element lies. */
  public int regionOffset(long position) {
    return regionOffset + (int) position * type().bytes();
  }

  @Override
  Buffer place() {
    return view;
  }

  @Override
  @Nullable Object kernelMemory() {
    return kernelMemory;
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
  void copyTo(FlatMemory target, int to, int count, int from) {
    target.replace(to, count, view, from);
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
