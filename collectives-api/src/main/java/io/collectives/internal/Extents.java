package io.collectives.internal;

import io.collectives.ElementType;
import io.collectives.Payload;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The memory that is written, with the names under which users know it: what overlaps any of it is
 * refused. Never refuses what does not overlap; runs that lie a stride apart may lie between those
 * of another payload.
 *
 * <p><b>What is known.</b> Arrays and ranges of them, exactly. Direct memory by its addresses from
 * JDK 22 on; before, there is no way to ask for an address, and two payloads are known to overlap
 * only if they were made of the same buffer object, or are ranges of such payloads, or of the same
 * {@link io.collectives.CollectiveBuffer}.
 *
 * <p>Belongs to one thread at a time. Holds the memory until it is collected itself.
 */
public final class Extents {

  /** From JDK 22 on: a buffer's {@code MemorySegment}, and the address of one. */
  private static final @Nullable MethodHandle ADDRESS = address();

  /** Stands for all direct memory, if addresses are known. */
  private static final Object DIRECT = new Object();

  private final Map<Object, Taken> taken = new IdentityHashMap<>();

  /** The parts of an array, or of direct memory, that are written. */
  private static final class Taken {
    /** The extents without gaps, which do not overlap, by their beginnings. */
    final TreeMap<Long, Extent> whole = new TreeMap<>();

    final List<Extent> strided = new ArrayList<>();
  }

  /** Creates an empty set of extents. */
  public Extents() {}

  private static @Nullable MethodHandle address() {
    try {
      Class<?> segment = Class.forName("java.lang.foreign.MemorySegment");
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      MethodHandle of =
          lookup.findStatic(segment, "ofBuffer", MethodType.methodType(segment, Buffer.class));
      MethodHandle address =
          lookup.findVirtual(segment, "address", MethodType.methodType(long.class));
      return MethodHandles.filterReturnValue(of, address);
    } catch (ReflectiveOperationException | LinkageError e) {
      return null;
    }
  }

  /**
   * Adds memory that is written.
   *
   * @param name what it is to the user, such as {@code the output}
   * @throws IllegalArgumentException if any of it is there already, or it overlaps itself
   */
  public void add(String name, Payload payload) {
    List<Extent> extents = extents(name, payload);
    for (int i = 0; i < extents.size(); i++) {
      Extent extent = extents.get(i);
      Taken here = taken.computeIfAbsent(extent.memory, memory -> new Taken());
      check(extent, here);
      if (extent.runs == 1) {
        here.whole.put(extent.from, extent);
      } else {
        here.strided.add(extent);
      }
    }
  }

  /**
   * Checks memory that is read.
   *
   * @throws IllegalArgumentException if any of it is written
   */
  public void check(String name, Payload payload) {
    List<Extent> extents = extents(name, payload);
    for (int i = 0; i < extents.size(); i++) {
      Taken there = taken.get(extents.get(i).memory);
      if (there != null) {
        check(extents.get(i), there);
      }
    }
  }

  private static void check(Extent extent, Taken taken) {
    // Those without gaps do not overlap each other, so they end in the order in which they begin.
    for (Map.Entry<Long, Extent> before = taken.whole.lowerEntry(extent.end());
        before != null && before.getValue().end() > extent.from;
        before = taken.whole.lowerEntry(before.getKey())) {
      refuseIf(extent.overlaps(before.getValue()), before.getValue(), extent);
    }
    for (int i = 0; i < taken.strided.size(); i++) {
      refuseIf(extent.overlaps(taken.strided.get(i)), taken.strided.get(i), extent);
    }
  }

  private static void refuseIf(boolean overlap, Extent written, Extent other) {
    if (overlap) {
      throw new IllegalArgumentException(
          other.name
              + " and "
              + written.name
              + " overlap: "
              + other
              + ", and "
              + written
              + ", in the same memory; what a call writes must not be anything else of that call,"
              + " unless its method says so: pass memory that does not overlap");
    }
  }

  /**
   * Returns whether a payload lies, element by element, where another one has a part.
   *
   * @param part no longer than the whole, from {@code at} on
   * @param at the element of the whole that would be the first one of the part
   */
  public static boolean liesIn(Payload part, Payload whole, long at) {
    Cursor a = new Cursor(extents("", part));
    Cursor b = new Cursor(extents("", whole.slice(at, part.count())));
    while (!a.isAtEnd() && !b.isAtEnd()) {
      if (a.memory() != b.memory() || a.position() != b.position()) {
        return false;
      }
      long step = Math.min(a.left(), b.left());
      a.advance(step);
      b.advance(step);
    }
    return a.isAtEnd() && b.isAtEnd();
  }

  private static List<Extent> extents(String name, Payload payload) {
    List<Extent> extents = new ArrayList<>();
    if (payload instanceof Payload.OfTensors several) {
      int[] part = {0};
      for (Payload type : several.byType()) {
        parts(name, type, part, extents);
      }
    } else if (payload instanceof Payload.OfParts) {
      parts(name, payload, new int[1], extents);
    } else {
      add(name, payload, extents);
    }
    return extents;
  }

  private static void parts(String name, Payload payload, int[] part, List<Extent> extents) {
    List<Payload> parts =
        payload instanceof Payload.OfParts several ? several.parts() : List.of(payload);
    for (int i = 0; i < parts.size(); i++) {
      add("part " + part[0]++ + " of " + name, parts.get(i), extents);
    }
  }

  private static void add(String name, Payload piece, List<Extent> extents) {
    if (piece.count() == 0) {
      return;
    }
    if (piece instanceof Payload.OfStrided strided) {
      int unit = unit(strided.base());
      extents.add(
          strided.overlaps()
              ? extent(name, strided.base(), strided.base().count(), 0, 1)
              : extent(
                  name,
                  strided.base(),
                  strided.run(),
                  (long) strided.stride() * unit,
                  strided.runs()));
    } else {
      extents.add(extent(name, piece, piece.count(), 0, 1));
    }
  }

  /** Runs of so many elements, the first of which begins where a piece does. */
  private static Extent extent(String name, Payload piece, long run, long stride, int runs) {
    int unit = unit(piece);
    if (piece instanceof Payload.OfArray array) {
      return new Extent(name, piece, array.array(), array.offset(), run, stride, runs);
    }
    if (piece instanceof Payload.OfBuffer direct) {
      long address = addressOf(direct.buffer());
      Object memory = address < 0 ? direct.source() : DIRECT;
      return new Extent(
          name, piece, memory, address < 0 ? direct.at() : address, run * unit, stride, runs);
    }
    Payload.OfCollectiveBuffer range = (Payload.OfCollectiveBuffer) piece;
    long address = addressOf(range.buffer().bytes());
    long at = range.offset() * unit;
    Object memory = address < 0 ? range.buffer() : DIRECT;
    return new Extent(
        name, piece, memory, address < 0 ? at : address + at, run * unit, stride, runs);
  }

  /**
   * Returns the distance of adjacent elements: arrays are counted in elements, direct memory in
   * bytes.
   */
  private static int unit(Payload piece) {
    return piece instanceof Payload.OfArray ? 1 : piece.type().bytes();
  }

  /** The address of the first element of a direct buffer; -1 if that cannot be known. */
  private static long addressOf(Buffer buffer) {
    if (ADDRESS == null) {
      return -1;
    }
    try {
      Buffer all = buffer.duplicate().clear();
      return (long) ADDRESS.invokeExact(all);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Runs of elements of one memory.
   *
   * @param name of the payload
   * @param piece what begins with the first run
   * @param memory an array, a buffer, or {@link #DIRECT}
   * @param from where the first run begins
   * @param run how long each is
   * @param stride from one to the next, more than {@code run}; 0 if there is one
   * @param runs how many
   */
  private record Extent(
      String name, Payload piece, Object memory, long from, long run, long stride, int runs) {

    long end() {
      return from + (runs - 1) * stride + run;
    }

    /** Returns whether another extent of the same memory overlaps this one. */
    boolean overlaps(Extent other) {
      if (end() <= other.from || other.end() <= from) {
        return false;
      }
      if (runs == 1 || other.runs == 1 || stride == other.stride) {
        // Run i of this begins (other.from - from) - k stride before run j of the other; k = i - j.
        long apart = other.from - from;
        long by = Math.max(stride, other.stride);
        if (by == 0) {
          return true;
        }
        long least = Math.max(Math.floorDiv(apart - run, by) + 1, 1 - (long) other.runs);
        long most = Math.min(Math.floorDiv(apart + other.run - 1, by), (long) runs - 1);
        return least <= most;
      }
      int i = 0;
      int j = 0;
      while (i < runs && j < other.runs) {
        long mine = from + i * stride;
        long theirs = other.from + j * other.stride;
        if (mine + run <= theirs) {
          i++;
        } else if (theirs + other.run <= mine) {
          j++;
        } else {
          return true;
        }
      }
      return false;
    }

    @Override
    public String toString() {
      int unit = unit(piece);
      ElementType type = piece.type();
      String gaps = runs == 1 ? "" : ", " + run / unit + " of every " + stride / unit;
      if (piece instanceof Payload.OfArray array) {
        int length = Array.getLength(array.array());
        String java = array.array().getClass().getComponentType().getName();
        return "elements "
            + from
            + " to "
            + (end() - 1)
            + " of a "
            + java
            + "["
            + length
            + "]"
            + gaps;
      }
      if (piece instanceof Payload.OfBuffer direct) {
        Buffer source = direct.source();
        long bytes =
            source instanceof ByteBuffer
                ? source.capacity()
                : (long) source.capacity() * type.bytes();
        long last = direct.at() + (end() - from) - 1;
        return "bytes " + direct.at() + " to " + last + " of a direct buffer of " + bytes + gaps;
      }
      Payload.OfCollectiveBuffer range = (Payload.OfCollectiveBuffer) piece;
      long last = range.offset() + (end() - from) / unit - 1;
      return "elements " + range.offset() + " to " + last + " of " + range.buffer() + gaps;
    }
  }

  /** Walks extents, element by element in the order of their payload. */
  private static final class Cursor {
    private final List<Extent> extents;
    private int extent;
    private int run;
    private long within;

    Cursor(List<Extent> extents) {
      this.extents = extents;
    }

    boolean isAtEnd() {
      return extent == extents.size();
    }

    Object memory() {
      return extents.get(extent).memory;
    }

    long position() {
      Extent here = extents.get(extent);
      return here.from + run * here.stride + within;
    }

    /** Returns the number of elements that are left of the run. */
    long left() {
      return extents.get(extent).run - within;
    }

    void advance(long count) {
      within += count;
      Extent here = extents.get(extent);
      if (within == here.run) {
        within = 0;
        run++;
        if (run == here.runs) {
          run = 0;
          extent++;
        }
      }
    }
  }
}
