package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Frames that come over several paths, in any order and any pieces, some of them twice. */
@Tag("once")
class PathsArrivalsTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_126L);
  private static final int FRAMES = 200;
  private static final int SEGMENT = 64;

  /** An envelope under way, of which the first bytes have arrived. */
  private static final class Sent {
    final long number;
    final FrameHeader envelope = new FrameHeader();
    final FrameBytes bytes;
    int done = -1; // The header is next.

    Sent(Segment of) {
      this(of.number, of.from == 0 ? of.frame : null, of.body, of.from, of.length);
    }

    Sent(long number, @Nullable FrameHeader frame, byte[] body, int from, int length) {
      this.number = number;
      int prefix = frame == null ? PathsLink.SHORT_PREFIX : PathsLink.PREFIX_LENGTH;
      envelope.length = prefix + length;
      bytes = PathsArrivals.bytes(envelope.length + 7 & ~7);
      bytes.bytes().putLong(0, number).putLong(16, frame == null ? 0 : 1);
      if (frame != null) {
        frame.write(bytes, PathsLink.SHORT_PREFIX);
      }
      bytes.bytes().put(prefix, body, from, length);
    }
  }

  private record Segment(long number, FrameHeader frame, byte[] body, int from, int length) {}

  /** Cuts frames of random lengths into segments. */
  private static List<Segment> segments(Random random, List<byte[]> bodies) {
    List<Segment> all = new ArrayList<>();
    for (int sequence = 0; sequence < FRAMES; sequence++) {
      byte[] body = new byte[random.nextInt(4) == 0 ? 0 : random.nextInt(200)];
      random.nextBytes(body);
      bodies.add(body);
      FrameHeader frame = new FrameHeader();
      frame.sequence = sequence;
      frame.length = body.length;
      for (int from = 0; from == 0 || from < body.length; from += SEGMENT) {
        int length = Math.min(SEGMENT, body.length - from);
        all.add(new Segment(all.size(), frame, body, from, length));
      }
    }
    return all;
  }

  /** Checks the order of frames and every byte of them. */
  private static final class Receiver implements PathsArrivals.Out {
    final List<byte[]> bodies = new ArrayList<>();
    long headers;
    int left;

    @Override
    public void came(int path, long count) {}

    @Override
    public void header(FrameHeader header) {
      assertEquals(0, left, "a frame begins within another");
      assertEquals(headers, header.sequence);
      left = header.length;
      headers++;
    }

    @Override
    public void bytes(FrameBytes source, int at, int length) {
      byte[] body = bodies.get((int) headers - 1);
      int done = body.length - left;
      assertEquals(0, done % 8, "only the last piece may be of any length");
      for (int i = 0; i < length; i++) {
        assertEquals(body[done + i], source.bytes().get(at + i));
      }
      left -= length;
      assertTrue(left >= 0);
    }
  }

  static LongStream seeds() {
    return LongStream.range(SEED, SEED + 200);
  }

  /**
   * At random a frame is sent by any path, a piece arrives, or the oldest frame that has not come
   * is sent again; a path may stop for ever, in the middle of a frame, but not the last one.
   */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void givesOnEachFrameOnceAndInOrder(long seed) {
    Random random = new Random(seed);
    int count = 2 + random.nextInt(3);
    Receiver receiver = new Receiver();
    List<Segment> segments = segments(random, receiver.bodies);
    PathsArrivals arrivals = new PathsArrivals(1, 0, SEGMENT, count, receiver);
    List<Deque<Sent>> paths = new ArrayList<>();
    for (int path = 0; path < count; path++) {
      paths.add(new ArrayDeque<>());
    }
    boolean[] stopped = new boolean[count];
    boolean[] come = new boolean[segments.size()];
    long oldest = 0;
    int next = 0;
    while (receiver.headers < FRAMES || receiver.left > 0) {
      while (oldest < come.length && come[(int) oldest]) {
        oldest++;
      }
      int path = random.nextInt(count);
      if (stopped[path]) {
        continue;
      }
      Deque<Sent> way = paths.get(path);
      int what = random.nextInt(100);
      if (what < 10) {
        if (next < come.length && next - oldest < PathsLink.WINDOW) {
          way.add(new Sent(segments.get(next++)));
        }
      } else if (what < 12 && oldest < next) {
        way.add(new Sent(segments.get((int) oldest)));
      } else if (what == 12 && stopped(stopped) < count - 1) {
        stopped[path] = true;
      } else if (!way.isEmpty()) {
        arrive(arrivals, path, way, come, random);
      }
    }
    assertEquals(FRAMES, receiver.headers, "seed " + seed);
    long all = 0;
    for (int path = 0; path < count; path++) {
      all += arrivals.came(path);
    }
    assertTrue(all >= come.length, "seed " + seed);
  }

  private static int stopped(boolean[] paths) {
    int count = 0;
    for (boolean path : paths) {
      count += path ? 1 : 0;
    }
    return count;
  }

  private static void arrive(
      PathsArrivals arrivals, int path, Deque<Sent> way, boolean[] come, Random random) {
    Sent sent = way.getFirst();
    int length = sent.envelope.length;
    if (sent.done < 0) {
      arrivals.header(path, sent.envelope);
      sent.done = 0;
      return;
    }
    int piece = Math.min(length - sent.done, 8 * (1 + random.nextInt(20)));
    arrivals.bytes(path, sent.bytes, sent.done, piece);
    sent.done += piece;
    if (sent.done == length) {
      come[(int) sent.number] = true;
      way.removeFirst();
    }
  }

  /** Numbers beyond the window, none with a body, and a length that is not that of the frame. */
  @ParameterizedTest
  @ValueSource(longs = {PathsLink.WINDOW, -1, -2, Long.MAX_VALUE, Long.MIN_VALUE})
  void refusesNumbersThatCannotBe(long number) {
    PathsArrivals arrivals = new PathsArrivals(1, 0, SEGMENT, 2, new Receiver());
    FrameHeader frame = new FrameHeader();
    frame.length = 8;
    Sent sent = new Sent(number, frame, new byte[8], 0, 8);
    arrivals.header(1, sent.envelope);
    ProtocolException thrown =
        assertThrows(
            ProtocolException.class, () -> arrivals.bytes(1, sent.bytes, 0, sent.envelope.length));
    assertTrue(thrown.getMessage().contains("its number is " + number), thrown.getMessage());
  }
}
