package io.collectives.testkit;

import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A payload for tests: elements of one type in one kind of memory, read and written as their bits,
 * sign-extended, with guard elements around them that must not change. One thread at a time may use
 * it.
 */
final class TestPayload {

  /** The kinds of memory that a payload can be made of. */
  enum Memory {
    /** A whole array. */
    ARRAY,
    /** A range of an array. */
    RANGE,
    /** A direct buffer. */
    DIRECT,
    /** A range of a direct buffer that begins at an odd byte. */
    ODD_DIRECT,
    /** A typed view of a direct buffer. */
    VIEW,
    /** A range of a buffer that the communicator has allocated. */
    COMMUNICATOR,
    /** Many short parts, arrays and direct buffers in turn. */
    PARTS,
    /** Short runs of an array or of a direct buffer, with guards between them, too. */
    STRIDED
  }

  private static final long GUARD = 0x5a5a_a5a5_5a5a_a5a5L;
  private static final int GUARDS = 3;
  private static final int GAP = 2;
  private static final int[] PART_COUNTS = {1, 3, 0, 7, 2, 5};

  private final ElementType type;
  private final Memory memory;
  private final int count;
  private final List<Segment> segments = new ArrayList<>();
  private final @Nullable BufferPool pool;

  /** Makes a payload that needs no communicator. */
  TestPayload(ElementType type, Memory memory, int count) {
    this(type, memory, count, null);
  }

  /**
   * Makes a payload in any kind of memory.
   *
   * @param pool a pool that has been prepared for this payload
   */
  TestPayload(ElementType type, Memory memory, int count, @Nullable BufferPool pool) {
    this.pool = pool;
    this.type = type;
    this.memory = memory;
    this.count = count;
    if (memory != Memory.PARTS) {
      segments.add(segment(memory, count));
      return;
    }
    int left = count;
    for (int i = 0; left > 0 || i == 0; i++) {
      int part = Math.min(left, PART_COUNTS[i % PART_COUNTS.length]);
      segments.add(segment(i % 2 == 0 ? Memory.RANGE : Memory.DIRECT, part));
      left -= part;
    }
  }

  /** The payload that a library gets to see. */
  Payload payload() {
    if (memory == Memory.PARTS) {
      return Payload.of(
          segments.stream().map(segment -> segment.payload(type, Memory.RANGE)).toList());
    }
    Segment only = segments.get(0);
    if (memory == Memory.COMMUNICATOR) {
      return Objects.requireNonNull(pool).payload(type, only.offset / type.bytes(), count);
    }
    return only.payload(type, memory);
  }

  /** Reduces in place by the method that fits the kind of memory best. */
  void allReduce(Communicator group, ReduceOp op) {
    Object array = segments.get(0).memory;
    if (memory == Memory.ARRAY && array instanceof float[] floats) {
      group.allReduce(floats, op);
    } else if (memory == Memory.ARRAY && array instanceof double[] doubles) {
      group.allReduce(doubles, op);
    } else if (memory == Memory.ARRAY && array instanceof int[] ints) {
      group.allReduce(ints, op);
    } else if (memory == Memory.ARRAY && array instanceof long[] longs) {
      group.allReduce(longs, op);
    } else {
      group.allReduce(payload(), op);
    }
  }

  /** Sets all elements. */
  void fill(long[] bits) {
    int at = 0;
    for (Segment segment : segments) {
      for (int i = 0; i < segment.count; i++) {
        segment.put(type, i, bits[at++]);
      }
    }
  }

  /** All elements. */
  long[] bits() {
    long[] bits = new long[count];
    int at = 0;
    for (Segment segment : segments) {
      for (int i = 0; i < segment.count; i++) {
        bits[at++] = segment.bits(type, i);
      }
    }
    return bits;
  }

  /** Fails if something was written before the first or after the last element. */
  void assertGuards() {
    for (Segment segment : segments) {
      for (int i = 1; i <= segment.guards; i++) {
        if (segment.bits(type, -i) != guard()
            || segment.bits(type, segment.count + i - 1) != guard()) {
          throw new AssertionError(
              i
                  + " elements outside of "
                  + memory
                  + " memory of "
                  + count
                  + " "
                  + type
                  + ", something was written");
        }
      }
      for (int i = 0; i < segment.count; i++) {
        for (int gap = segment.gapAfter(i); gap > 0; gap--) {
          if (segment.bitsAt(type, segment.indexOf(i) + gap) != guard()) {
            throw new AssertionError(
                "after element " + i + " of " + count + " " + type + " in runs");
          }
        }
      }
    }
  }

  private Segment segment(Memory kind, int segmentCount) {
    int guards = kind == Memory.ARRAY ? 0 : GUARDS;
    if (kind == Memory.STRIDED) {
      // Whole runs only; an odd number of elements in an array.
      int run = segmentCount % 3 == 0 ? 3 : 1;
      int all = segmentCount / run * (run + GAP) + 2 * guards;
      Segment segment =
          segmentCount % 2 == 1
              ? new Segment(array(all), guards, segmentCount, guards, run)
              : new Segment(
                  ByteBuffer.allocateDirect(all * type.bytes()).order(ByteOrder.nativeOrder()),
                  guards * type.bytes(),
                  segmentCount,
                  guards,
                  run);
      for (int i = -guards; i < all - guards; i++) {
        segment.putAt(type, i, guard());
      }
      return segment;
    }
    int all = segmentCount + 2 * guards;
    Segment segment =
        switch (kind) {
          case ARRAY, RANGE, PARTS, STRIDED ->
              new Segment(array(all), guards, segmentCount, guards);
          case DIRECT, VIEW, ODD_DIRECT -> {
            int first = kind == Memory.ODD_DIRECT ? 3 : 0;
            ByteBuffer buffer =
                ByteBuffer.allocateDirect(first + all * type.bytes())
                    .order(ByteOrder.nativeOrder());
            yield new Segment(buffer, first + guards * type.bytes(), segmentCount, guards);
          }
          case COMMUNICATOR -> {
            BufferPool from = Objects.requireNonNull(pool);
            int first = (from.take(all) + guards) * type.bytes();
            yield new Segment(from.bytes(type), first, segmentCount, guards);
          }
        };
    for (int i = 1; i <= guards; i++) {
      segment.put(type, -i, guard());
      segment.put(type, segmentCount + i - 1, guard());
    }
    return segment;
  }

  private Object array(int length) {
    return type.newArray(length);
  }

  private long guard() {
    return Numbers.cut(type, GUARD);
  }

  /**
   * Elements one after the other, or, if they are more than a run, in runs with gaps between them;
   * {@code offset} counts elements of the array, or bytes of the buffer.
   *
   * @param memory an array, or a buffer
   */
  private record Segment(Object memory, int offset, int count, int guards, int run) {

    Segment(Object memory, int offset, int count, int guards) {
      this(memory, offset, count, guards, Math.max(1, count));
    }

    /** Returns the index in the memory of an element, counted from that of the first one. */
    int indexOf(int index) {
      if (index < 0 || count == 0) {
        return index;
      }
      return index < count
          ? index / run * (run + GAP) + index % run
          : indexOf(count - 1) + 1 + index - count;
    }

    int gapAfter(int index) {
      return index % run == run - 1 && index < count - 1 ? GAP : 0;
    }

    Payload payload(ElementType type, Memory kind) {
      if (kind == Memory.STRIDED) {
        int runs = count / run;
        int all = runs * (run + GAP);
        Segment whole = new Segment(memory, offset, all, guards);
        return Payload.strided(whole.payload(type, Memory.VIEW), 0, runs, run, run + GAP);
      }
      if (memory instanceof ByteBuffer buffer) {
        ByteBuffer range = buffer.duplicate().order(ByteOrder.nativeOrder());
        range.position(offset).limit(offset + count * type.bytes());
        if (kind != Memory.VIEW) {
          return Payload.of(range, type);
        }
        Buffer view = type.view(range);
        if (view instanceof FloatBuffer floats) {
          return Payload.of(floats);
        }
        if (view instanceof DoubleBuffer doubles) {
          return Payload.of(doubles);
        }
        if (view instanceof IntBuffer ints) {
          return Payload.of(ints);
        }
        if (view instanceof LongBuffer longs) {
          return Payload.of(longs);
        }
        return view instanceof ShortBuffer shorts
            ? Payload.of(shorts, type)
            : Payload.of((ByteBuffer) view, type);
      }
      if (memory instanceof float[] floats) {
        return Payload.of(floats, offset, count);
      }
      if (memory instanceof double[] doubles) {
        return Payload.of(doubles, offset, count);
      }
      if (memory instanceof int[] ints) {
        return Payload.of(ints, offset, count);
      }
      if (memory instanceof short[] shorts) {
        return Payload.of(shorts, offset, count, type);
      }
      if (memory instanceof byte[] bytes) {
        return Payload.of(bytes, offset, count, type);
      }
      return Payload.of((long[]) memory, offset, count);
    }

    void put(ElementType type, int index, long bits) {
      putAt(type, indexOf(index), bits);
    }

    long bits(ElementType type, int index) {
      return bitsAt(type, indexOf(index));
    }

    void putAt(ElementType type, int index, long bits) {
      if (memory instanceof ByteBuffer buffer) {
        switch (type.bytes()) {
          case 1 -> buffer.put(offset + index, (byte) bits);
          case 2 -> buffer.putShort(offset + 2 * index, (short) bits);
          case 4 -> buffer.putInt(offset + 4 * index, (int) bits);
          default -> buffer.putLong(offset + 8 * index, bits);
        }
      } else if (memory instanceof float[] floats) {
        floats[offset + index] = Float.intBitsToFloat((int) bits);
      } else if (memory instanceof double[] doubles) {
        doubles[offset + index] = Double.longBitsToDouble(bits);
      } else if (memory instanceof int[] ints) {
        ints[offset + index] = (int) bits;
      } else if (memory instanceof short[] shorts) {
        shorts[offset + index] = (short) bits;
      } else if (memory instanceof byte[] bytes) {
        bytes[offset + index] = (byte) bits;
      } else {
        ((long[]) memory)[offset + index] = bits;
      }
    }

    long bitsAt(ElementType type, int index) {
      if (memory instanceof ByteBuffer buffer) {
        return switch (type.bytes()) {
          case 1 -> buffer.get(offset + index);
          case 2 -> buffer.getShort(offset + 2 * index);
          case 4 -> buffer.getInt(offset + 4 * index);
          default -> buffer.getLong(offset + 8 * index);
        };
      } else if (memory instanceof float[] floats) {
        return Float.floatToRawIntBits(floats[offset + index]);
      } else if (memory instanceof double[] doubles) {
        return Double.doubleToRawLongBits(doubles[offset + index]);
      } else if (memory instanceof int[] ints) {
        return ints[offset + index];
      } else if (memory instanceof short[] shorts) {
        return shorts[offset + index];
      } else if (memory instanceof byte[] bytes) {
        return bytes[offset + index];
      }
      return ((long[]) memory)[offset + index];
    }
  }
}
