package io.collectives;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.ArrayList;
import java.util.List;

/** Makes payloads of parts of other payloads; nothing is copied. */
final class Ranges {
  private Ranges() {}

  /** See {@link Payload#strided}. */
  static Payload strided(Payload base, long offset, int runs, int run, long stride) {
    if (runs < 0 || run < 0 || stride < 0) {
      throw new IllegalArgumentException(
          runs
              + " runs of "
              + run
              + " elements, one every "
              + stride
              + ": none may be less than 0");
    }
    if (base instanceof Payload.OfTensors several) {
      throw new IllegalArgumentException(
          "runs of a payload of "
              + several.types()
              + " elements: it must be of one type; take runs of each, and pass them together");
    }
    boolean isEmpty = runs == 0 || run == 0;
    if (offset < 0
        || offset > base.count()
        || !isEmpty && !endsWithin(base.count() - offset, runs, run, stride)) {
      throw new IndexOutOfBoundsException(
          runs
              + " runs of "
              + run
              + " elements, one every "
              + stride
              + " from element "
              + offset
              + " on, do not lie within a payload of "
              + base.count()
              + " elements");
    }
    if (isEmpty) {
      return slice(base, offset, 0);
    }
    if (runs == 1 || stride == run) {
      return slice(base, offset, (long) runs * run);
    }
    if (base instanceof Payload.OfParts || base instanceof Payload.OfStrided) {
      List<Payload> pieces = new ArrayList<>();
      for (int i = 0; i < runs; i++) {
        pieces.add(slice(base, offset + i * stride, run));
      }
      return Payload.of(pieces);
    }
    if ((long) runs * run > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          runs
              + " runs of "
              + run
              + " elements that overlap: there may be 2^31 - 1 elements at most; pass several such"
              + " payloads as parts");
    }
    Payload touched = slice(base, offset, (runs - 1) * stride + run);
    return new Payload.OfStrided(touched, runs, run, (int) stride);
  }

  private static boolean endsWithin(long count, int runs, int run, long stride) {
    return run <= count && (runs == 1 || stride <= (count - run) / (runs - 1));
  }

  /** Returns elements {@code [offset, offset + count)} of a payload, which must lie within it. */
  static Payload slice(Payload payload, long offset, long count) {
    if (payload instanceof Payload.OfArray array) {
      return new Payload.OfArray(array.type(), array.array(), array.offset() + (int) offset, count);
    }
    if (payload instanceof Payload.OfBuffer direct) {
      return new Payload.OfBuffer(
          direct.type(),
          slice(direct, (int) offset, (int) count),
          direct.source(),
          direct.at() + offset * direct.type().bytes());
    }
    if (payload instanceof Payload.OfCollectiveBuffer range) {
      return range.buffer().payload(range.offset() + offset, count);
    }
    if (payload instanceof Payload.OfStrided strided) {
      return slice(strided, (int) offset, (int) count);
    }
    if (payload instanceof Payload.OfTensors several) {
      throw new IllegalArgumentException(
          "a range of a payload of "
              + several.types()
              + " elements: it must be of one type; take ranges of each, and pass them together");
    }
    List<Payload> parts = ((Payload.OfParts) payload).parts();
    List<Payload> pieces = new ArrayList<>();
    long start = 0;
    for (Payload part : parts) {
      long from = Math.max(offset, start);
      long until = Math.min(offset + count, start + part.count());
      if (from < until) {
        pieces.add(slice(part, from - start, until - from));
      }
      start += part.count();
    }
    return pieces.isEmpty() ? slice(parts.get(0), 0, 0) : Payload.of(pieces);
  }

  /** Returns a range of runs: the end of a run, whole runs, and the beginning of one. */
  private static Payload slice(Payload.OfStrided strided, int offset, int count) {
    int run = strided.run();
    int within = offset % run;
    int head = within == 0 ? 0 : Math.min(count, run - within);
    int whole = (count - head) / run;
    int tail = count - head - whole * run;
    long at = (long) (offset / run) * strided.stride();
    List<Payload> pieces = new ArrayList<>();
    if (head > 0) {
      pieces.add(slice(strided.base(), at + within, head));
      at += strided.stride();
    }
    if (whole > 0) {
      pieces.add(strided(strided.base(), at, whole, run, strided.stride()));
      at += (long) whole * strided.stride();
    }
    if (tail > 0) {
      pieces.add(slice(strided.base(), at, tail));
    }
    return switch (pieces.size()) {
      case 0 -> slice(strided.base(), 0, 0);
      case 1 -> pieces.get(0);
      default -> Payload.of(pieces);
    };
  }

  private static Buffer slice(Payload.OfBuffer direct, int offset, int count) {
    Buffer buffer = direct.buffer();
    if (buffer instanceof ByteBuffer bytes) {
      int length = direct.type().bytes();
      return bytes.slice(offset * length, count * length).order(bytes.order());
    } else if (buffer instanceof FloatBuffer floats) {
      return floats.slice(offset, count);
    } else if (buffer instanceof DoubleBuffer doubles) {
      return doubles.slice(offset, count);
    } else if (buffer instanceof IntBuffer ints) {
      return ints.slice(offset, count);
    } else if (buffer instanceof ShortBuffer shorts) {
      return shorts.slice(offset, count);
    }
    return ((LongBuffer) buffer).slice(offset, count);
  }
}
