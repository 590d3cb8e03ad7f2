package io.collectives.netty;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The segments of a peer's frames in any order, put in order. The next one is given on while it
 * arrives; one that comes before its turn is held. If the next one stops halfway and comes whole by
 * another path, the rest of it is taken from there.
 */
final class PathsArrivals {
  /** The number of an envelope without a segment. */
  static final long EMPTY = -1;

  private static final int NOBODY = -1;

  private final int sender;
  private final int receiver;
  private final int room;
  private final Out out;
  private final Arrival[] paths;
  private final @Nullable Held[] held = new Held[PathsLink.WINDOW];
  private final Deque<Held> free = new ArrayDeque<>();
  private long expected; // The number of the next segment to be given on.
  private int giving = NOBODY; // The path from which that is given on now.
  private int given; // How many bytes of it have been.
  private int frameLeft; // Bytes of the present frame in segments whose turn has not come.

  /** Takes what goes on. */
  interface Out {
    /** The peer says how many segments have come to it on a path. */
    void came(int path, long count);

    /** A frame begins. */
    void header(FrameHeader header);

    /** The next bytes of its body. */
    void bytes(FrameBytes source, int at, int length);
  }

  /**
   * Begins with segment 0.
   *
   * @param sender the rank whose frames these are
   * @param receiver the rank that they come to
   * @param room the length of the buffers of segments that are held
   */
  PathsArrivals(int sender, int receiver, int room, int paths, Out out) {
    this.sender = sender;
    this.receiver = receiver;
    this.room = room;
    this.out = out;
    this.paths = new Arrival[paths];
    for (int path = 0; path < paths; path++) {
      this.paths[path] = new Arrival();
    }
  }

  static FrameBytes bytes(int length) {
    return new FrameBytes(ByteBuffer.allocateDirect(length));
  }

  /** Returns how many segments have come on a path. */
  long came(int path) {
    return paths[path].came;
  }

  /** Returns whether the peer has not been told of all that have come on a path. */
  boolean owes(int path) {
    return paths[path].came > paths[path].told;
  }

  /** The peer is being told. */
  void told(int path) {
    paths[path].told = paths[path].came;
  }

  /** An envelope begins. */
  void header(int path, FrameHeader envelope) {
    Arrival arrival = paths[path];
    if (envelope.kind != FrameHeader.Kind.DATA || envelope.length < PathsLink.SHORT_PREFIX) {
      throw cannotBe(path, "it has no number: " + envelope);
    }
    arrival.left = envelope.length;
    arrival.prefixLength = 0;
    arrival.wholePrefix = PathsLink.SHORT_PREFIX;
    arrival.use = Use.NONE;
  }

  /** The next bytes of an envelope. */
  void bytes(int path, FrameBytes source, int at, int length) {
    Arrival arrival = paths[path];
    int from = at;
    int left = length;
    arrival.left -= length;
    while (arrival.prefixLength < arrival.wholePrefix && left > 0) {
      arrival.prefix.bytes().putLong(arrival.prefixLength, source.bytes().getLong(from));
      arrival.prefixLength += Long.BYTES;
      from += Long.BYTES;
      left -= Long.BYTES;
      if (arrival.prefixLength == PathsLink.SHORT_PREFIX) {
        number(path, arrival, left);
      } else if (arrival.prefixLength == PathsLink.PREFIX_LENGTH) {
        begin(path, arrival, left);
      }
    }
    if (left > 0) {
      piece(path, arrival, source, from, left);
    }
    if (arrival.left == 0) {
      end(path, arrival);
    }
  }

  private void number(int path, Arrival arrival, int here) {
    long number = arrival.prefix.bytes().getLong(0);
    boolean isEmpty = arrival.left + here == 0;
    arrival.number = number;
    if ((number == EMPTY) != isEmpty || number < EMPTY || number - expected >= PathsLink.WINDOW) {
      throw cannotBe(
          path,
          "its number is "
              + number
              + ", and "
              + (isEmpty ? "nothing" : "more")
              + " follows: needed is -1 if it is empty, else one from 0 to "
              + (expected + PathsLink.WINDOW - 1));
    }
    out.came(path, arrival.prefix.bytes().getLong(8));
    arrival.begins = arrival.prefix.bytes().getLong(16) != 0;
    if (arrival.begins) {
      arrival.wholePrefix = PathsLink.PREFIX_LENGTH;
    } else if (!isEmpty) {
      begin(path, arrival, here);
    }
  }

  private void begin(int path, Arrival arrival, int here) {
    FrameHeader header = arrival.header;
    long number = arrival.number;
    int length = arrival.left + here;
    if (length > room) {
      throw cannotBe(path, length + " bytes follow, which must be at most " + room);
    }
    if (arrival.begins) {
      header.read(arrival.prefix, PathsLink.SHORT_PREFIX, sender, receiver);
    }
    if (isHere(number)) {
      arrival.use = Use.DROPPED;
    } else if (number == expected && giving == NOBODY) {
      arrival.use = Use.GIVEN;
      giving = path;
      given = 0;
      if (arrival.begins) {
        frameBegins(path, header);
      }
      take(path, length);
    } else {
      arrival.use = Use.HELD;
      Held frame = free.poll();
      arrival.held = frame == null ? new Held() : frame;
      arrival.held.begin(arrival.begins, header, length, room);
    }
  }

  private void frameBegins(int path, FrameHeader header) {
    if (frameLeft > 0) {
      throw cannotBe(path, "a frame begins, but " + frameLeft + " bytes of another are missing");
    }
    frameLeft = header.length;
    out.header(header);
  }

  /** Counts the bytes of a segment to its frame. */
  private void take(int path, int length) {
    frameLeft -= length;
    if (frameLeft < 0 || frameLeft > 0 && length % Long.BYTES != 0) {
      throw cannotBe(path, length + " bytes, and then " + frameLeft + " of its frame are missing");
    }
  }

  private boolean isHere(long number) {
    return number < expected || held[(int) (number % PathsLink.WINDOW)] != null;
  }

  private void piece(int path, Arrival arrival, FrameBytes source, int at, int length) {
    switch (arrival.use) {
      case GIVEN -> {
        given += length;
        out.bytes(source, at, length);
      }
      case HELD -> arrival.holding().take(source, at, length);
      case DROPPED -> {}
      case NONE -> throw cannotBe(path, "it has bytes, but no number");
    }
  }

  private void end(int path, Arrival arrival) {
    if (arrival.number != EMPTY) {
      arrival.came++;
    }
    switch (arrival.use) {
      case GIVEN -> {
        giving = NOBODY;
        expected++;
        deliverHeld();
      }
      case HELD -> {
        Held frame = arrival.holding();
        arrival.held = null;
        if (isHere(arrival.number)) {
          free.add(frame);
        } else {
          held[(int) (arrival.number % PathsLink.WINDOW)] = frame;
          deliverHeld();
        }
      }
      case DROPPED, NONE -> {}
    }
    arrival.use = Use.NONE;
  }

  /** Gives on what is next and here whole; returns how many segments. */
  int deliverHeld() {
    int count = 0;
    while (true) {
      int place = (int) (expected % PathsLink.WINDOW);
      Held frame = held[place];
      if (frame == null) {
        return count;
      }
      held[place] = null;
      expected++;
      int from = 0;
      if (giving == NOBODY) {
        if (frame.begins) {
          frameBegins(0, frame.header);
        }
        take(0, frame.whole);
      } else {
        // The path that it was given on from has stopped; this is the whole of it.
        from = given;
        paths[giving].use = Use.DROPPED;
        giving = NOBODY;
      }
      if (from < frame.whole) {
        out.bytes(frame.body, from, frame.whole - from);
      }
      free.add(frame);
      count++;
    }
  }

  private ProtocolException cannotBe(int path, String why) {
    return new ProtocolException(
        "rank "
            + sender
            + " sent to rank "
            + receiver
            + " on path "
            + path
            + " an envelope that cannot be: "
            + why);
  }

  private enum Use {
    /** It is empty, or its number has not come. */
    NONE,
    GIVEN,
    HELD,
    /** It has come by another path. */
    DROPPED
  }

  /** The segment that arrives on one path. */
  private static final class Arrival {
    final FrameHeader header = new FrameHeader();
    final FrameBytes prefix = PathsArrivals.bytes(PathsLink.PREFIX_LENGTH);
    int prefixLength;
    int wholePrefix;
    boolean begins;
    int left;
    long number;
    Use use = Use.NONE;
    @Nullable Held held;
    long came;
    long told;

    Held holding() {
      Held frame = held;
      if (frame == null) {
        throw new IllegalStateException("no frame is held");
      }
      return frame;
    }
  }

  /** A segment that is held. */
  private static final class Held {
    final FrameHeader header = new FrameHeader();
    FrameBytes body = bytes(0);
    boolean begins;
    int whole;
    int length;

    void begin(boolean first, FrameHeader head, int count, int room) {
      begins = first;
      header.copyFrom(head);
      whole = count;
      length = 0;
      if (body.bytes().capacity() < count) {
        body = bytes(room);
      }
    }

    void take(FrameBytes source, int at, int count) {
      body.bytes().put(length, source.bytes(), at, count);
      length += count;
    }
  }
}
