package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.Region;
import java.util.Objects;

/**
 * A payload of a call: the only thing that knows what an element is. Positions and counts are in
 * elements, {@code at} in bytes.
 *
 * <p>A memory is a row of flat parts, mostly one: an array or a direct buffer, or a range of it.
 * Every method here, and a {@link PairReduction}, walks the <em>runs</em> of its operands, the
 * longest stretches in which none of them changes its part, and leaves each run to {@link
 * FlatMemory}. No method allocates.
 *
 * <p>Threads: reading (as an operand of a reduction, too) changes no state, so any number of
 * threads may read a memory at once, its owner included. Writing is the business of one thread at a
 * time for each range; a {@link Scratch} belongs to one thread.
 */
public abstract class Memory {
  final Elements elements;

  Memory(Elements elements) {
    this.elements = elements;
  }

  /** The type of every element. */
  public final ElementType type() {
    return elements.type;
  }

  /** The number of elements. */
  public abstract long count();

  /** Returns whether any of it is a part of a region. */
  public boolean liesIn(Region region) {
    int part = 0;
    for (long at = 0; at < count(); part++) {
      if (part(part).region() == region) {
        return true;
      }
      at = end(part);
    }
    return false;
  }

  /** Returns whether its first part lies in a region. */
  public boolean isInRegion() {
    return count() > 0 && part(0).region() != null;
  }

  /**
   * Refuses a memory that cannot be the output of a call.
   *
   * @throws IllegalArgumentException if a part is a read-only buffer, or has runs that overlap
   */
  public abstract void checkWritable();

  /**
   * The index of the part that holds the element at {@code position}, which must be less than the
   * count.
   */
  abstract int partAt(long position);

  abstract FlatMemory part(int index);

  /** Returns the position in the flat memory of the first element of a part. */
  abstract int first(int index);

  /** The position of the first element of a part. */
  abstract long start(int index);

  /** The position after the last element of a part. */
  abstract long end(int index);

  /**
   * Copies elements {@code [from, from+count)} into a frame, little-endian.
   *
   * @param at where in the frame, a multiple of the element's length
   */
  public final void store(long from, int count, FrameBytes target, int at) {
    Objects.checkFromIndexSize(from, count, count());
    int index = elements.index(at);
    int part = count == 0 ? 0 : partAt(from);
    for (int done = 0; done < count; part++) {
      int run = run(count - done, part, from + done);
      part(part).store(local(part, from + done), run, elements.view(target), index + done);
      done += run;
    }
  }

  /**
   * Elements {@code [to, to+count)} become those of a frame.
   *
   * @param at where in the frame, a multiple of the element's length
   */
  public final void replace(long to, int count, FrameBytes source, int at) {
    Objects.checkFromIndexSize(to, count, count());
    int index = elements.index(at);
    int part = count == 0 ? 0 : partAt(to);
    for (int done = 0; done < count; part++) {
      int run = run(count - done, part, to + done);
      part(part).replace(local(part, to + done), run, elements.view(source), index + done);
      done += run;
    }
  }

  /**
   * Elements {@code [to, to+count)} become elements {@code [from, from+count)} of {@code source}, a
   * memory of the same type and any kind; ranges of one memory may overlap if it is one array or
   * buffer.
   */
  public final void replace(long to, int count, Memory source, long from) {
    checkType(source);
    Objects.checkFromIndexSize(to, count, count());
    Objects.checkFromIndexSize(from, count, source.count());
    if (count == 0) {
      return;
    }
    int part = partAt(to);
    int sourcePart = source.partAt(from);
    for (int done = 0; done < count; ) {
      long here = to + done;
      long there = from + done;
      int run = source.run(run(count - done, part, here), sourcePart, there);
      FlatMemory flat = source.part(sourcePart);
      flat.copyTo(part(part), local(part, here), run, source.local(sourcePart, there));
      done += run;
      part = next(part, here + run);
      sourcePart = source.next(sourcePart, there + run);
    }
  }

  /**
   * The position of the first of the elements {@code [from, from+count)} that is infinite or not a
   * number; -1 if all are finite, as integers are. Fast if that is so.
   */
  public final long firstNonFinite(long from, int count, Scratch scratch) {
    Objects.checkFromIndexSize(from, count, count());
    if (!elements.canBeNonFinite()) {
      return -1;
    }
    Object values = scratch.get(elements.blocks).own[0];
    Object marks = scratch.get(elements.marks);
    boolean any = false;
    for (int done = 0; done < count; done += Elements.MARKS) {
      int block = Math.min(Elements.MARKS, count - done);
      load(from + done, block, values);
      if (block >= Elements.SHORT) {
        elements.mark(values, marks, block);
      } else {
        any |= elements.firstNonFinite(values, block) >= 0;
      }
    }
    if (count >= Elements.SHORT) {
      any |= elements.takeMarks(marks);
    }
    for (int done = 0; any && done < count; done += Elements.MARKS) {
      int block = Math.min(Elements.MARKS, count - done);
      load(from + done, block, values);
      int first = elements.firstNonFinite(values, block);
      if (first >= 0) {
        return from + done + first;
      }
    }
    return -1;
  }

  /** The element at a position, of a type that can be something else than finite. */
  public final double value(long position, Scratch scratch) {
    Object values = scratch.get(elements.blocks).own[0];
    load(position, 1, values);
    return elements.value(values, 0);
  }

  /** Copies elements {@code [from, from+count)} to the beginning of an array of their type. */
  final void load(long from, int count, Object array) {
    Objects.checkFromIndexSize(from, count, count());
    int part = count == 0 ? 0 : partAt(from);
    for (int done = 0; done < count; part++) {
      int run = run(count - done, part, from + done);
      part(part).load(local(part, from + done), run, array, done);
      done += run;
    }
  }

  /** Elements {@code [to, to+count)} become those at the beginning of an array of their type. */
  final void save(long to, int count, Object array) {
    Objects.checkFromIndexSize(to, count, count());
    int part = count == 0 ? 0 : partAt(to);
    for (int done = 0; done < count; part++) {
      int run = run(count - done, part, to + done);
      part(part).save(local(part, to + done), run, array, done);
      done += run;
    }
  }

  /**
   * Returns the number of the {@code count} elements from {@code position} on that lie in this
   * part.
   */
  final int run(int count, int part, long position) {
    return (int) Math.min(count, end(part) - position);
  }

  /** Returns the position within a part of the element at {@code position}. */
  final int local(int part, long position) {
    return first(part) + (int) (position - start(part));
  }

  /** Returns the part that holds the element at {@code position}, which may be the next one. */
  final int next(int part, long position) {
    return position == end(part) ? part + 1 : part;
  }

  /**
   * Refuses a memory of another type.
   *
   * @throws IllegalArgumentException if it has one
   */
  final void checkType(Memory other) {
    if (other.elements != elements) {
      throw new IllegalArgumentException(
          "memories of "
              + type()
              + " and "
              + other.type()
              + " elements meet: both must be of one type");
    }
  }
}
