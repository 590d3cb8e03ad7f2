package io.collectives.engine.memory;

import io.collectives.Payload;
import io.collectives.spi.Region;
import java.nio.Buffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Runs of an array or a buffer, a fixed distance apart, that are too short to be parts of their
 * own. Blocks of them are gathered into arrays and frames and scattered from there; so sums are
 * those of whole blocks, by vector loops, whatever the runs are.
 *
 * <pre>
 *   base  [aa.....bb.....cc.....dd]   load  block [aabbccdd]   run 2, stride 7
 * </pre>
 */
final class StridedMemory extends FlatMemory {

  /** Runs from here on are bulk copies; shorter ones go element by element, in one loop for all. */
  private static final int BULK = 16;

  private final Payload.OfStrided payload;
  private final FlatMemory base;
  private final Object place;
  private final int run;
  private final int stride;

  /** From the runs to a block without gaps. */
  private final Strides gathering;

  /** From such a block to the runs. */
  private final Strides scattering;

  StridedMemory(Elements elements, Payload.OfStrided payload, FlatMemory base) {
    super(elements);
    this.payload = payload;
    this.base = base;
    this.place = Objects.requireNonNull(base.place());
    this.run = payload.run();
    this.stride = payload.stride();
    this.gathering = new Strides(run, stride);
    this.scattering = new Strides(stride, run);
  }

  /** Returns whether runs are too short for a vector loop over each. */
  static boolean isWorthwhile(Payload.OfStrided strided) {
    return strided.run() < Elements.SHORT;
  }

  static IllegalArgumentException notWritable(Payload.OfStrided strided) {
    return new IllegalArgumentException(
        "runs of "
            + strided.run()
            + " elements, one every "
            + strided.stride()
            + ", as the output of a call: they overlap, so they can only be an input; pass a stride"
            + " of at least "
            + strided.run());
  }

  @Override
  public long count() {
    return payload.count();
  }

  @Override
  public void checkWritable() {
    if (payload.overlaps()) {
      throw notWritable(payload);
    }
    base.checkWritable();
  }

  @Override
  @Nullable Region region() {
    return base.region();
  }

  @Override
  void load(int from, int count, Object array, int at) {
    gather(from, count, array, at);
  }

  @Override
  void store(int from, int count, Buffer target, int at) {
    gather(from, count, target, at);
  }

  @Override
  void save(int to, int count, Object array, int at) {
    scatter(to, count, array, at);
  }

  @Override
  void replace(int to, int count, Buffer source, int at) {
    scatter(to, count, source, at);
  }

  @Override
  @Nullable Object place() {
    return null;
  }

  @Override
  void copyTo(FlatMemory target, int to, int count, int from) {
    Object there = target.place();
    if (there != null) {
      gather(from, count, there, target.index(to));
      return;
    }
    for (int done = 0; done < count; ) {
      int within = (from + done) % run;
      int piece = Math.min(count - done, run - within);
      base.copyTo(target, to + done, piece, at(from + done));
      done += piece;
    }
  }

  /** Returns the position of an element in the base. */
  private int at(int position) {
    return position / run * stride + position % run;
  }

  /** To an array or a buffer. */
  private void gather(int from, int count, Object target, int at) {
    int head = head(from, count);
    int whole = (count - head) / run;
    int tail = count - head - whole * run;
    gather(from, head, 1, target, at);
    gather(from + head, run, whole, target, at + head);
    gather(from + head + whole * run, tail, 1, target, at + head + whole * run);
  }

  /** From an array or a buffer. */
  private void scatter(int to, int count, Object source, int at) {
    int head = head(to, count);
    int whole = (count - head) / run;
    int tail = count - head - whole * run;
    scatter(to, head, 1, source, at);
    scatter(to + head, run, whole, source, at + head);
    scatter(to + head + whole * run, tail, 1, source, at + head + whole * run);
  }

  /** Returns the number of elements before the next run begins. */
  private int head(int position, int count) {
    int within = position % run;
    return within == 0 ? 0 : Math.min(count, run - within);
  }

  /** Gathers parts of equal length of one run after the other: whole runs, or a part of one. */
  private void gather(int from, int length, int runs, Object target, int at) {
    int first = at(from);
    if (length < BULK) {
      elements.copyRuns(target, at, place, base.index(first), gathering, length, runs);
      return;
    }
    for (int i = 0; i < runs; i++) {
      if (target instanceof Buffer buffer) {
        base.store(first + i * stride, length, buffer, at + i * length);
      } else {
        base.load(first + i * stride, length, target, at + i * length);
      }
    }
  }

  private void scatter(int to, int length, int runs, Object source, int at) {
    int first = at(to);
    if (length < BULK) {
      elements.copyRuns(place, base.index(first), source, at, scattering, length, runs);
      return;
    }
    for (int i = 0; i < runs; i++) {
      if (source instanceof Buffer buffer) {
        base.replace(first + i * stride, length, buffer, at + i * length);
      } else {
        base.save(first + i * stride, length, source, at + i * length);
      }
    }
  }
}
