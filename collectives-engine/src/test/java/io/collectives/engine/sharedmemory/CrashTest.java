package io.collectives.engine.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.internal.CallFingerprint;
import io.collectives.internal.FrameCodec;
import io.collectives.internal.InlineSlots;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.JobEpoch;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A rank dies before any of its stores. The memory that its peer then has is made by taking the
 * memory before and after each step of the writer, and between the two each prefix of the words
 * that differ, in both orders, and some of them at random: more than what any order of the stores
 * can leave behind.
 */
class CrashTest {
  private static final int LONGEST = 300;
  private static final int CAPACITY = 2 * (int) Ring.recordLength(LONGEST);
  private static final int FRAMES = 8;
  private static final int RANDOM_SUBSETS = 20;
  private static final int HEAD = 128;
  private static final int SLOTS = 12288;

  private final Random random = new Random(7);
  private final FrameCodec codec = new FrameCodec(new JobEpoch(1, 2), 0, 1);
  private ByteBuffer memory = ByteBuffer.allocate(0);
  private FrameBytes bytes = new FrameBytes(memory);
  private Ring.Writer writer = new Ring.Writer(bytes, Ring.Side.MAKER, 0);
  private Ring.Reader reader = new Ring.Reader(bytes, Ring.Side.MAKER, 0);
  private Ring.Sleep sleep = new Ring.Sleep(bytes, Ring.Side.MAKER);
  private Ring.LeaseStates leases = new Ring.LeaseStates(bytes, Ring.Side.MAKER);

  /** The meaning of a record. */
  enum Kind {
    BODY,
    LEASED,
    GONE
  }

  /** Something that a rank does with the memory. */
  private interface Step {
    void run();
  }

  private void open() {
    bytes = new FrameBytes(ByteBuffer.allocateDirect((int) Ring.fileLength(CAPACITY)));
    memory = bytes.bytes();
    writer = new Ring.Writer(bytes, Ring.Side.MAKER, CAPACITY);
    reader = new Ring.Reader(bytes, Ring.Side.MAKER, CAPACITY);
    sleep = new Ring.Sleep(bytes, Ring.Side.MAKER);
    leases = new Ring.LeaseStates(bytes, Ring.Side.MAKER);
  }

  private static int length(int frame) {
    return new int[] {LONGEST, 8, 200, 0, 136}[frame % 5];
  }

  /** The steps in which a link writes a record. */
  private List<Step> write(Kind kind, int frame) {
    int[] at = new int[1];
    FrameHeader header = new FrameHeader();
    header.sequence = frame;
    return switch (kind) {
      case BODY -> {
        header.length = length(frame);
        byte[] body = new byte[header.length];
        new Random(frame).nextBytes(body);
        yield List.of(
            () -> at[0] = writer.claim((int) Ring.recordLength(body.length)),
            () -> memory.put(at[0] + FrameCodec.HEADER_LENGTH, body),
            () -> codec.encode(header, bytes, at[0]),
            writer::publish,
            () -> sleep.mustWake(true));
      }
      case LEASED -> {
        header.length = 64;
        yield List.of(
            () -> at[0] = writer.claim((int) Ring.leasedLength(1)),
            () -> writer.piece(at[0], 0, 3, 64 * frame, 64, -1, 0),
            () -> leases.grant(frame, 1),
            () -> codec.encode(header, bytes, writer.lease(at[0], 1, frame)),
            writer::publish,
            () -> sleep.mustWake(true));
      }
      case GONE ->
          List.of(
              () -> at[0] = writer.claim(Ring.SMALLEST_RECORD),
              () -> writer.note(at[0], new RegionNote(RegionNote.Kind.GONE, frame, 0)),
              writer::publish,
              () -> sleep.mustWake(true));
    };
  }

  /** Reads all of a record of a kind, as it was written. */
  private void read(Kind kind, int frame) {
    assertTrue(reader.look(), "frame " + frame);
    FrameHeader header = new FrameHeader();
    int at = reader.next(codec, header);
    switch (kind) {
      case BODY -> {
        assertEquals(frame, header.sequence);
        byte[] expected = new byte[length(frame)];
        new Random(frame).nextBytes(expected);
        byte[] found = new byte[header.length];
        memory.get(at, found);
        assertEquals(ByteBuffer.wrap(expected), ByteBuffer.wrap(found));
      }
      case LEASED -> {
        assertTrue(reader.isLeased());
        assertEquals(frame, header.sequence);
        assertEquals(List.of(1, frame), List.of(reader.pieces(), reader.state()));
        assertEquals(List.of(3, 64 * frame), List.of(reader.region(0), reader.offset(0)));
        assertTrue(leases.isGranted(frame, 1));
      }
      case GONE -> {
        assertEquals(new RegionNote(RegionNote.Kind.GONE, frame, 0), reader.note());
      }
    }
    reader.consume();
  }

  /** The writer dies at any store of a frame, while the one before it has not been read yet. */
  @ParameterizedTest
  @EnumSource
  void ofADeadWriterAllOfARecordIsReadOrNothing(Kind kind) {
    int states = 0;
    for (int frame = 1; frame < FRAMES; frame++) {
      int last = frame;
      boolean published = false;
      for (int step = 0; step < write(kind, frame).size(); step++) {
        int until = step;
        List<byte[]> crashes = crashes(() -> before(kind, last, until), kind, last, until);
        for (byte[] crash : crashes) {
          before(kind, frame, step);
          boolean shown = tail(crash) != tail(content());
          memory.put(0, crash);
          read(kind, frame - 1);
          if (published || shown) {
            read(kind, frame);
          }
          assertFalse(reader.look(), "something is read that was not written");
          states++;
        }
        before(kind, frame, step + 1);
        published |= shows(kind, frame, step);
      }
      assertTrue(published);
    }
    assertTrue(states > 50, states + " states");
  }

  /** Returns whether a step is the one that shows the record to the reader. */
  private boolean shows(Kind kind, int frame, int step) {
    before(kind, frame, step);
    long tail = tail(content());
    before(kind, frame, step + 1);
    return tail(content()) != tail;
  }

  /** Makes a ring in which a frame was written by so many steps, all but the one before is read. */
  private void before(Kind kind, int frame, int steps) {
    open();
    for (int i = 0; i < frame; i++) {
      write(kind, i).forEach(Step::run);
      if (i < frame - 1) {
        read(kind, i);
      }
    }
    List<Step> all = write(kind, frame);
    for (int i = 0; i < steps; i++) {
      all.get(i).run();
    }
  }

  private List<byte[]> crashes(Step begin, Kind kind, int frame, int step) {
    begin.run();
    byte[] before = content();
    before(kind, frame, step + 1);
    return between(before, content());
  }

  /** Returns what may be in memory if some of the words that change have changed. */
  private List<byte[]> between(byte[] before, byte[] after) {
    List<Integer> words = new ArrayList<>();
    for (int at = 0; at < before.length; at += Long.BYTES) {
      if (word(before, at) != word(after, at)) {
        words.add(at);
      }
    }
    List<byte[]> states = new ArrayList<>();
    for (int count = 0; count <= words.size(); count++) {
      states.add(mixed(before, after, words.subList(0, count)));
      states.add(mixed(before, after, words.subList(count, words.size())));
    }
    for (int i = 0; i < RANDOM_SUBSETS && words.size() > 1; i++) {
      states.add(mixed(before, after, words.stream().filter(at -> random.nextBoolean()).toList()));
    }
    return states;
  }

  private static byte[] mixed(byte[] before, byte[] after, List<Integer> changed) {
    byte[] state = before.clone();
    for (int at : changed) {
      System.arraycopy(after, at, state, at, Long.BYTES);
    }
    return state;
  }

  private byte[] content() {
    byte[] content = new byte[memory.capacity()];
    memory.get(0, content);
    return content;
  }

  private static long word(byte[] content, int at) {
    return ByteBuffer.wrap(content).getLong(at);
  }

  private static long tail(byte[] content) {
    return word(content, 0);
  }

  /** The reader dies at any store: the writer has the room that it had, or all that is given. */
  @Test
  void ofADeadReaderRoomIsGivenBackWholeOrNot() {
    int more = 0;
    for (int frame = 1; frame < FRAMES; frame++) {
      before(Kind.BODY, frame, 0);
      byte[] unread = content();
      int roomUnread = room();
      before(Kind.BODY, frame, 0);
      read(Kind.BODY, frame - 1);
      byte[] read = content();
      int roomRead = room();
      more += roomRead > roomUnread ? 1 : 0;
      for (byte[] crash : between(unread, read)) {
        before(Kind.BODY, frame, 0);
        memory.put(0, crash);
        boolean given = word(crash, HEAD) != word(unread, HEAD);
        assertEquals(given ? roomRead : roomUnread, room(), "frame " + frame);
      }
    }
    assertTrue(more > FRAMES / 2, more + " times more");
  }

  /** The length of the longest record that the writer could write now. */
  private int room() {
    int length = CAPACITY;
    while (length > 0 && writer.claim(length) < 0) {
      length -= 64;
    }
    return length;
  }

  /** The writer dies at any store of a message. */
  @Test
  void ofADeadWriterAllOfAMessageIsTakenOrNothing() {
    for (int turn = 0; turn < 4; turn++) {
      post(turn);
      byte[] before = content();
      post(turn + 1);
      byte[] after = content();
      int number = SLOTS + turn % 2 * (InlineSlots.LENGTH / InlineExchange.SLOTS);
      byte[] unnumbered = after.clone();
      System.arraycopy(before, number, unnumbered, number, Long.BYTES);
      List<byte[]> crashes = between(before, unnumbered);
      crashes.add(after);
      for (byte[] crash : crashes) {
        memory.put(0, crash);
        assertEquals(crash == after, take(turn), "turn " + turn);
        assertTrue(turn == 0 || take(turn - 1), "the one before is in the other place");
      }
    }
  }

  /** Leaves messages of so many turns in memory of their own. */
  private void post(int turns) {
    open();
    InlineSlots slots = Ring.slots(bytes, Ring.Side.MAKER);
    for (int turn = 0; turn < turns; turn++) {
      slots.post(turn % 2, turn + 1, call(turn), new Message(turn));
    }
  }

  private boolean take(int turn) {
    FrameBytes body = new FrameBytes(ByteBuffer.allocate(64));
    long[] call = new long[CallFingerprint.WORDS];
    if (!Ring.slots(bytes, Ring.Side.MAKER).take(turn % 2, turn + 1, call, body, 64)) {
      return false;
    }
    assertEquals(call(turn)[3], call[3]);
    for (int i = 0; i < 64; i += Long.BYTES) {
      assertEquals(turn + 1, body.bytes().getLong(i));
    }
    return true;
  }

  private static long[] call(int turn) {
    long[] call = new long[CallFingerprint.WORDS];
    Arrays.fill(call, turn + 100);
    return call;
  }

  private final class Message implements FrameBody {
    private final int turn;

    Message(int turn) {
      this.turn = turn;
    }

    @Override
    public int length() {
      return 64;
    }

    @Override
    public void store(FrameBytes target, int at) {
      for (int i = 0; i < 64; i += Long.BYTES) {
        target.bytes().putLong(at + i, turn + 1);
      }
      assertFalse(take(turn), "shown before it is whole");
    }

    @Override
    public void release() {}
  }

  /**
   * A lessee or an owner dies at any store of a lease: no lease that may be held is taken for over.
   */
  @Test
  void ofADeadLesseeALeaseIsHeldOrOverOrUntouched() {
    List<Step> lessee = List.of(() -> assertTrue(leases.hold(4, 1)), () -> leases.end(4, 1));
    open();
    leases.grant(4, 1);
    byte[] before = content();
    for (int step = 0; step < lessee.size(); step++) {
      lessee.get(step).run();
      byte[] after = content();
      for (byte[] crash : between(before, after)) {
        memory.put(0, crash);
        boolean changed = Arrays.equals(crash, after);
        assertEquals(step == 0 ? changed : !changed, leases.isHeld(4, 1));
        assertEquals(step == 1 && changed, leases.isOver(4, 1));
        assertTrue(leases.isPossible(4, 1));
      }
      memory.put(0, after);
      before = after;
    }
  }
}
