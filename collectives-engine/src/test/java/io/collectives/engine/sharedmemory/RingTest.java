package io.collectives.engine.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ProtocolException;
import io.collectives.internal.FrameCodec;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.JobEpoch;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A ring as its two ends see it, and what one end makes of impossible values that the other writes.
 */
class RingTest {
  private static final int LONGEST_BODY = 1000;
  private static final int RECORD = 1152;
  private static final int TAIL = 0;
  private static final int HEAD = 128;
  private static final int FIRST_RECORD = 53248;

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);
  private final FrameHeader header = new FrameHeader();
  private ByteBuffer memory = ByteBuffer.allocate(0);
  private FrameBytes bytes = new FrameBytes(memory);
  private Ring.Writer writer = new Ring.Writer(bytes, Ring.Side.MAKER, 0);
  private Ring.Reader reader = new Ring.Reader(bytes, Ring.Side.MAKER, 0);
  private final FrameCodec codec = new FrameCodec(new JobEpoch(1, 2), 0, 1);

  private void ring(int capacity) {
    memory = ByteBuffer.allocateDirect((int) Ring.fileLength(capacity));
    bytes = new FrameBytes(memory);
    memory = bytes.bytes();
    writer = new Ring.Writer(bytes, Ring.Side.MAKER, capacity);
    reader = new Ring.Reader(bytes, Ring.Side.MAKER, capacity);
  }

  private boolean write(int number, int length) {
    int at = writer.claim((int) Ring.recordLength(length));
    if (at < 0) {
      return false;
    }
    assertEquals(0, at % 64, "records are aligned");
    byte[] body = new byte[length];
    new Random(number).nextBytes(body);
    memory.put(at + FrameCodec.HEADER_LENGTH, body);
    header.sequence = number;
    header.length = length;
    codec.encode(header, bytes, at);
    writer.publish();
    return true;
  }

  private boolean read(int number, int length) {
    if (!reader.look()) {
      return false;
    }
    int at = reader.next(codec, header);
    assertEquals(number, header.sequence, "seed " + seed);
    assertEquals(length, header.length, "seed " + seed);
    byte[] expected = new byte[length];
    byte[] found = new byte[length];
    new Random(number).nextBytes(expected);
    memory.get(at, found);
    assertArrayEquals(expected, found, "seed " + seed);
    reader.consume();
    return true;
  }

  @ParameterizedTest
  @ValueSource(ints = {2 * RECORD, 2 * RECORD + 64, 3 * RECORD + 128, 4 * RECORD})
  void keepsOrderAndContentHoweverRecordsFall(int capacity) {
    ring(capacity);
    Queue<int[]> under = new ArrayDeque<>();
    int written = 0;
    for (int i = 0; i < 20_000; i++) {
      int length = random.nextInt(3) == 0 ? LONGEST_BODY : random.nextInt(LONGEST_BODY + 1);
      if (random.nextBoolean() && write(written, length)) {
        under.add(new int[] {written++, length});
      } else if (random.nextBoolean() && !under.isEmpty()) {
        int[] oldest = under.remove();
        assertTrue(read(oldest[0], oldest[1]));
      }
    }
    while (!under.isEmpty()) {
      int[] oldest = under.remove();
      assertTrue(read(oldest[0], oldest[1]));
    }
    assertFalse(reader.look());
    assertTrue(written > 1000, "written " + written + ", seed " + seed);
  }

  /** Or a link would be stuck for ever. */
  @Test
  void anEmptyRingTakesTheLongestRecordWhereverItsTailIs() {
    ring(2 * RECORD);
    for (int i = 0; i < 500; i++) {
      int length = random.nextInt(LONGEST_BODY + 1);
      assertTrue(write(i, length), "seed " + seed);
      assertTrue(read(i, length));
      assertTrue(write(500 + i, LONGEST_BODY), "seed " + seed);
      assertTrue(read(500 + i, LONGEST_BODY));
    }
  }

  @Test
  void isFullWhenItsCapacityIsTakenAndSaysWhenThereIsRoom() {
    ring(4 * RECORD);
    for (int i = 0; i < 4; i++) {
      assertTrue(write(i, LONGEST_BODY));
    }
    assertFalse(write(4, 0));
    assertFalse(writer.hasMoreRoom());
    assertTrue(read(0, LONGEST_BODY));
    assertTrue(writer.hasMoreRoom());
    assertTrue(write(4, LONGEST_BODY));
  }

  @Test
  void isNotReadBeforeItIsPublished() {
    ring(2 * RECORD);
    int at = writer.claim(RECORD);
    header.length = 8;
    codec.encode(header, bytes, at);
    assertFalse(reader.look());
    assertFalse(reader.hasMore());
    writer.publish();
    assertTrue(reader.hasMore());
  }

  @ParameterizedTest
  @ValueSource(longs = {-64, 1, 63, 4 * RECORD + 64, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 32})
  void refusesATailThatCannotBe(long tail) {
    ring(4 * RECORD);
    memory.putLong(TAIL, tail);
    ProtocolException error = assertThrows(ProtocolException.class, reader::look);
    assertTrue(error.getMessage().contains("" + tail), error.getMessage());
  }

  @Test
  void refusesATailThatTurnsBack() {
    ring(4 * RECORD);
    write(0, LONGEST_BODY);
    write(1, LONGEST_BODY);
    assertTrue(reader.look());
    memory.putLong(TAIL, RECORD);
    assertThrows(ProtocolException.class, reader::look);
  }

  @ParameterizedTest
  @ValueSource(longs = {-64, 1, 4 * RECORD + 64, Long.MAX_VALUE, Long.MIN_VALUE})
  void refusesAHeadThatCannotBe(long head) {
    ring(4 * RECORD);
    for (int i = 0; i < 4; i++) {
      write(i, LONGEST_BODY);
    }
    memory.putLong(HEAD, head);
    assertThrows(ProtocolException.class, () -> write(4, 0));
  }

  @Test
  void refusesABodyLongerThanWhatWasWritten() {
    ring(4 * RECORD);
    write(0, 8);
    for (int length : new int[] {65, 4 * RECORD, Integer.MAX_VALUE - 7, -1, Integer.MIN_VALUE}) {
      header.length = length;
      codec.encode(header, bytes, FIRST_RECORD);
      assertTrue(reader.look());
      assertThrows(ProtocolException.class, () -> reader.next(codec, header), "length " + length);
    }
  }

  @Test
  void refusesAHeaderThatIsCutOff() {
    ring(4 * RECORD);
    write(0, 8);
    memory.putLong(TAIL, 64);
    assertTrue(reader.look());
    assertThrows(ProtocolException.class, () -> reader.next(codec, header));
  }

  @Test
  void refusesToSkipWhatWasNotWritten() {
    ring(4 * RECORD);
    write(0, 8);
    memory.put(FIRST_RECORD, new byte[] {'S', 'K', 'I', 'P'});
    assertTrue(reader.look());
    ProtocolException error =
        assertThrows(ProtocolException.class, () -> reader.next(codec, header));
    assertTrue(error.getMessage().contains("skipped"), error.getMessage());
  }

  /** ProtocolErrors anywhere is found, or make no difference; nothing is read out of bounds. */
  @Test
  void survivesWrongBytesAnywhere() {
    int refused = 0;
    for (int i = 0; i < 3000; i++) {
      ring(2 * RECORD);
      int count = 1 + random.nextInt(4);
      for (int frame = 0; frame < count; frame++) {
        write(frame, random.nextInt(300));
      }
      for (int change = random.nextInt(4); change >= 0; change--) {
        int at = random.nextInt(5) == 0 ? random.nextInt(640) : FIRST_RECORD + random.nextInt(800);
        memory.put(at, (byte) random.nextInt());
      }
      try {
        while (reader.look()) {
          int at = reader.next(codec, header);
          assertTrue(at >= FIRST_RECORD + FrameCodec.HEADER_LENGTH, "seed " + seed);
          assertTrue(at + header.length <= FIRST_RECORD + 2 * RECORD, "seed " + seed);
          reader.consume();
        }
        while (write(0, random.nextInt(300))) {}
      } catch (ProtocolException e) {
        refused++;
      }
    }
    assertTrue(refused > 500, refused + " refused, seed " + seed);
  }

  @Test
  void wakesOnceWhoSleepsForIt() {
    ring(2 * RECORD);
    Ring.Sleep maker = new Ring.Sleep(bytes, Ring.Side.MAKER);
    Ring.Sleep taker = new Ring.Sleep(bytes, Ring.Side.TAKER);
    assertFalse(maker.mustWake(true), "nobody sleeps");
    taker.begin(false);
    assertFalse(maker.mustWake(false), "it does not wait for room");
    assertFalse(taker.mustWake(true), "it is the other one that sleeps");
    assertTrue(maker.mustWake(true));
    assertFalse(maker.mustWake(true), "it is awake already");
    taker.begin(true);
    assertTrue(maker.mustWake(false));
    taker.begin(true);
    taker.end();
    assertFalse(maker.mustWake(true));
  }

  /** A writer and a reader that act at the same moment: one of them must see the other. */
  @Test
  void whoFallsAsleepWhileSomethingIsWrittenSeesItOrIsWoken() throws Exception {
    ring(4 * RECORD);
    Ring.Sleep maker = new Ring.Sleep(bytes, Ring.Side.MAKER);
    Ring.Sleep taker = new Ring.Sleep(bytes, Ring.Side.TAKER);
    int rounds = 500_000;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
    AtomicInteger start = new AtomicInteger();
    AtomicInteger over = new AtomicInteger();
    boolean[] woken = {false};
    Thread sending =
        new Thread(
            () -> {
              for (int round = 1; awaitValue(start, round); round++) {
                writer.publish();
                woken[0] = maker.mustWake(true);
                over.set(round);
              }
            },
            "writer");
    sending.start();
    int round = 0;
    try {
      while (round < rounds && System.nanoTime() - end < 0) {
        round++;
        int at = writer.claim(Ring.SMALLEST_RECORD);
        header.length = 0;
        codec.encode(header, bytes, at);
        start.set(round);
        for (int wait = round % 400; wait > 0 && over.get() < round; wait--) {}
        taker.begin(false);
        VarHandle.fullFence();
        boolean seen = reader.hasMore();
        awaitValue(over, round);
        assertTrue(seen || woken[0], "in round " + round);
        taker.end();
        assertTrue(reader.look());
        reader.next(codec, header);
        reader.consume();
      }
    } finally {
      start.set(-1);
      sending.join();
    }
  }

  /** Waits until a counter has a value; false if it is over. */
  private static boolean awaitValue(AtomicInteger counter, int value) {
    for (int spins = 0; counter.get() != value; spins++) {
      if (counter.get() < 0) {
        return false;
      }
      if (spins > 1000) {
        Thread.yield();
      }
    }
    return true;
  }

  @Test
  void hasTwoRingsThatDoNotTouchEachOther() {
    int capacity = 2 * RECORD;
    ring(capacity);
    Ring.Writer other = new Ring.Writer(bytes, Ring.Side.TAKER, capacity);
    int mine = writer.claim(RECORD);
    int theirs = other.claim(RECORD);
    assertTrue(theirs >= mine + capacity, mine + " and " + theirs);
    assertTrue(theirs + capacity <= memory.capacity());
    writer.publish();
    Ring.Reader otherReader = new Ring.Reader(bytes, Ring.Side.TAKER, capacity);
    assertFalse(otherReader.look());
    assertTrue(reader.look());
  }

  @Test
  void acceptsCapacitiesThatFitTheLongestRecords() {
    assertEquals(RECORD, Ring.recordLength(LONGEST_BODY));
    for (int body : new int[] {4096, 128 * 1024, 256 * 1024, 64 * 1024 * 1024}) {
      int record = (int) Ring.recordLength(body);
      assertTrue(Ring.isCapacity(Ring.capacity(record), record), "body " + body);
      assertTrue(Ring.fileLength(Ring.capacity(record)) < Integer.MAX_VALUE, "body " + body);
    }
    assertFalse(Ring.isCapacity(2 * RECORD - 64, RECORD));
    assertFalse(Ring.isCapacity(2 * RECORD + 1, RECORD));
    assertFalse(Ring.isCapacity(Integer.MAX_VALUE & -64, RECORD));
    assertFalse(Ring.isCapacity(-64, RECORD));
  }
}
