package io.collectives.spi;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A buffer of bytes in wire order (little-endian) together with its typed views, made once so that
 * moving elements allocates nothing. Used by one thread at a time.
 */
public final class FrameBytes {
  private final ByteBuffer bytes;
  private @Nullable FloatBuffer floats;
  private @Nullable DoubleBuffer doubles;
  private @Nullable IntBuffer ints;
  private @Nullable LongBuffer longs;
  private @Nullable ShortBuffer shorts;
  private @Nullable ByteBuffer singles;
  private @Nullable Object made;

  /**
   * Wraps all bytes from 0 to the capacity of {@code buffer}, whose position, limit and order are
   * left alone.
   */
  public FrameBytes(ByteBuffer buffer) {
    this.bytes = buffer.duplicate().clear().order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * The bytes; only absolute access is allowed, so that position and limit stay 0 and the capacity.
   */
  public ByteBuffer bytes() {
    return bytes;
  }

  /** The bytes as {@code float}s; index i is byte 4i. */
  public FloatBuffer floats() {
    FloatBuffer view = floats;
    if (view == null) {
      floats = view = bytes.asFloatBuffer();
    }
    return view;
  }

  /** The bytes as {@code double}s; index i is byte 8i. */
  public DoubleBuffer doubles() {
    DoubleBuffer view = doubles;
    if (view == null) {
      doubles = view = bytes.asDoubleBuffer();
    }
    return view;
  }

  /** The bytes as {@code int}s; index i is byte 4i. */
  public IntBuffer ints() {
    IntBuffer view = ints;
    if (view == null) {
      ints = view = bytes.asIntBuffer();
    }
    return view;
  }

  /** The bytes as {@code long}s; index i is byte 8i. */
  public LongBuffer longs() {
    LongBuffer view = longs;
    if (view == null) {
      longs = view = bytes.asLongBuffer();
    }
    return view;
  }

  /** The bytes with a position and limit of their own; index i is byte i. */
  public ByteBuffer singles() {
    ByteBuffer view = singles;
    if (view == null) {
      singles = view = bytes.duplicate().clear();
    }
    return view;
  }

  /** The bytes as {@code short}s; index i is byte 2i. */
  public ShortBuffer shorts() {
    ShortBuffer view = shorts;
    if (view == null) {
      shorts = view = bytes.asShortBuffer();
    }
    return view;
  }

  /**
   * Returns what {@code maker} makes of the bytes: one more view, for which all callers have to
   * pass the same maker.
   */
  public Object view(Function<? super ByteBuffer, ?> maker) {
    Object view = made;
    if (view == null) {
      made = view = maker.apply(bytes);
    }
    return view;
  }
}
