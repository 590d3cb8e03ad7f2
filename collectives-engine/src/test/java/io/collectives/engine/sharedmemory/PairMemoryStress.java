package io.collectives.engine.sharedmemory;

import io.collectives.internal.FrameCodec;
import io.collectives.internal.InlineSlots;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.JobEpoch;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;
import org.openjdk.jcstress.infra.results.JZ_Result;
import org.openjdk.jcstress.infra.results.ZJ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** Two ranks use the memory that they share at the same moment. */
public class PairMemoryStress {
  private static final int BODY = 64;
  private static final int CAPACITY = 2 * (FrameCodec.HEADER_LENGTH + BODY);
  private static final int LENGTH = (int) Ring.fileLength(CAPACITY);

  /** More than are in use at once. */
  private static final int PAIRS = 1024;

  private static final ByteBuffer MEMORY =
      ByteBuffer.allocateDirect(PAIRS * LENGTH + BODY).alignedSlice(BODY);
  private static final AtomicInteger MADE = new AtomicInteger();
  private static final byte[] ZEROS = new byte[LENGTH];
  private static final JobEpoch EPOCH = new JobEpoch(1, 2);

  private PairMemoryStress() {}

  /** Memory of a pair, all zeros. */
  private static FrameBytes memory() {
    int index = Math.floorMod(MADE.getAndIncrement(), PAIRS);
    ByteBuffer bytes = MEMORY.slice(index * LENGTH, LENGTH);
    bytes.put(0, ZEROS);
    return new FrameBytes(bytes);
  }

  /** A frame is read whole or not at all. */
  @JCStressTest
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "not there yet")
  @Outcome(id = "7, 8", expect = Expect.ACCEPTABLE, desc = "all of it")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a part of it")
  @State
  public static class Frames {
    private final FrameBytes memory = memory();
    private final Ring.Writer writer = new Ring.Writer(memory, Ring.Side.MAKER, CAPACITY);
    private final Ring.Reader reader = new Ring.Reader(memory, Ring.Side.MAKER, CAPACITY);
    private final FrameHeader sent = new FrameHeader();
    private final FrameHeader received = new FrameHeader();
    private final FrameCodec encoder = new FrameCodec(EPOCH, 0, 1);
    private final FrameCodec decoder = new FrameCodec(EPOCH, 0, 1);

    /** Sends. */
    @Actor
    public void writer() {
      int at = writer.claim((int) Ring.recordLength(BODY));
      memory.bytes().putLong(at + FrameCodec.HEADER_LENGTH + BODY - Long.BYTES, 8);
      sent.sequence = 7;
      sent.length = BODY;
      encoder.encode(sent, memory, at);
      writer.publish();
    }

    /** Receives. */
    @Actor
    public void reader(JJ_Result seen) {
      seen.r1 = -1;
      seen.r2 = -1;
      if (reader.look()) {
        int at = reader.next(decoder, received);
        seen.r1 = received.sequence;
        seen.r2 = memory.bytes().getLong(at + BODY - Long.BYTES);
        reader.consume();
      }
    }
  }

  /** Room is given back after it was read. */
  @JCStressTest
  @Outcome(
      id = {"5, 0", "5, 1"},
      expect = Expect.ACCEPTABLE,
      desc = "read before it was written over")
  @Outcome(expect = Expect.FORBIDDEN, desc = "written over while it was read")
  @State
  public static class Room {
    private final FrameBytes memory = memory();
    private final Ring.Writer writer = new Ring.Writer(memory, Ring.Side.MAKER, CAPACITY);
    private final Ring.Reader reader = new Ring.Reader(memory, Ring.Side.MAKER, CAPACITY);
    private final FrameHeader header = new FrameHeader();
    private final FrameCodec codec = new FrameCodec(EPOCH, 0, 1);

    /** Two frames fill the ring. */
    public Room() {
      header.length = BODY;
      for (int i = 0; i < 2; i++) {
        int at = writer.claim((int) Ring.recordLength(BODY));
        memory.bytes().putLong(at + FrameCodec.HEADER_LENGTH, 5);
        codec.encode(header, memory, at);
        writer.publish();
      }
    }

    /** Sends a third. */
    @Actor
    public void writer(JJ_Result seen) {
      int at = writer.claim((int) Ring.recordLength(BODY));
      if (at >= 0) {
        memory.bytes().putLong(at + FrameCodec.HEADER_LENGTH, 6);
        writer.publish();
        seen.r2 = 1;
      }
    }

    /** Reads the first. */
    @Actor
    public void reader(JJ_Result seen) {
      reader.look();
      int at = reader.next(codec, new FrameHeader());
      seen.r1 = memory.bytes().getLong(at);
      reader.consume();
    }
  }

  /** A rank that falls asleep sees what has come, or is woken. */
  @JCStressTest
  @Outcome(id = "false, false", expect = Expect.FORBIDDEN, desc = "a wake-up is lost")
  @Outcome(expect = Expect.ACCEPTABLE, desc = "awake")
  @State
  public static class Sleep {
    private final FrameBytes memory = memory();
    private final Ring.Writer writer = new Ring.Writer(memory, Ring.Side.MAKER, CAPACITY);
    private final Ring.Reader reader = new Ring.Reader(memory, Ring.Side.MAKER, CAPACITY);
    private final Ring.Sleep maker = new Ring.Sleep(memory, Ring.Side.MAKER);
    private final Ring.Sleep taker = new Ring.Sleep(memory, Ring.Side.TAKER);

    /** Sends. */
    @Actor
    public void writer(ZZ_Result seen) {
      writer.claim(Ring.SMALLEST_RECORD);
      writer.publish();
      seen.r1 = maker.mustWake(true);
    }

    /** Falls asleep. */
    @Actor
    public void reader(ZZ_Result seen) {
      taker.begin(false);
      VarHandle.fullFence();
      seen.r2 = reader.hasMore();
    }
  }

  /** A message is taken whole or not at all. */
  @JCStressTest
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "not there yet")
  @Outcome(id = "3, 4", expect = Expect.ACCEPTABLE, desc = "all of it")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a part of it")
  @State
  public static class Mail {
    private static final long[] CALL = {1, 2, 3, 4, 5, 3};

    private final FrameBytes memory = memory();
    private final InlineSlots out = Ring.slots(memory, Ring.Side.MAKER);
    private final InlineSlots in = Ring.slots(memory, Ring.Side.MAKER);
    private final long[] call = new long[CALL.length];
    private final FrameBytes taken = new FrameBytes(ByteBuffer.allocate(Long.BYTES));

    /** Leaves a message. */
    @Actor
    public void writer() {
      out.post(0, 1, CALL, new Four());
    }

    /** Takes it. */
    @Actor
    public void reader(JJ_Result seen) {
      boolean there = in.take(0, 1, call, taken, Long.BYTES);
      seen.r1 = there ? call[CALL.length - 1] : -1;
      seen.r2 = there ? taken.bytes().getLong(0) : -1;
    }

    private static final class Four implements FrameBody {
      @Override
      public int length() {
        return Long.BYTES;
      }

      @Override
      public void store(FrameBytes target, int at) {
        target.bytes().putLong(at, 4);
      }

      @Override
      public void release() {}
    }
  }

  /** A lessee that has read what the owner's user has written after the revoking finds out. */
  @JCStressTest
  @Outcome(id = "1, true", expect = Expect.ACCEPTABLE, desc = "read in time")
  @Outcome(
      id = {"1, false", "2, false"},
      expect = Expect.ACCEPTABLE,
      desc = "found out")
  @Outcome(id = "2, true", expect = Expect.FORBIDDEN, desc = "the user's number is taken")
  @State
  public static class LeaseRead {
    private final FrameBytes memory = memory();
    private final Ring.LeaseStates owner = new Ring.LeaseStates(memory, Ring.Side.MAKER);
    private final Ring.LeaseStates lessee = new Ring.LeaseStates(memory, Ring.Side.MAKER);
    private final int place = LENGTH - Long.BYTES;

    /** The lease is granted. */
    public LeaseRead() {
      memory.bytes().putLong(place, 1);
      owner.grant(5, 1);
    }

    /** Its call fails. */
    @Actor
    public void owner() {
      owner.revoke(5, 1);
      memory.bytes().putLong(place, 2);
    }

    /** Reads. */
    @Actor
    public void lessee(JZ_Result seen) {
      seen.r1 = memory.bytes().getLong(place);
      VarHandle.acquireFence();
      seen.r2 = lessee.isGranted(5, 1);
    }
  }

  /** The lessee does not write, or the owner waits. */
  @JCStressTest
  @Outcome(id = "true, 3", expect = Expect.ACCEPTABLE, desc = "the owner has waited")
  @Outcome(id = "false, 1", expect = Expect.ACCEPTABLE, desc = "revoked in time")
  @Outcome(expect = Expect.FORBIDDEN, desc = "written later, or not seen")
  @State
  public static class LeaseWrite {
    private final FrameBytes memory = memory();
    private final Ring.LeaseStates owner = new Ring.LeaseStates(memory, Ring.Side.MAKER);
    private final Ring.LeaseStates lessee = new Ring.LeaseStates(memory, Ring.Side.MAKER);
    private final int place = LENGTH - Long.BYTES;

    /** The lease is granted. */
    public LeaseWrite() {
      memory.bytes().putLong(place, 1);
      owner.grant(5, 1);
    }

    /** Its call fails. */
    @Actor
    public void owner(ZJ_Result seen) {
      owner.revoke(5, 1);
      while (owner.isHeld(5, 1)) {
        Thread.onSpinWait();
      }
      seen.r2 = memory.bytes().getLong(place);
    }

    /** Puts a sum into the owner's memory. */
    @Actor
    public void lessee(ZJ_Result seen) {
      seen.r1 = lessee.hold(5, 1);
      if (seen.r1) {
        memory.bytes().putLong(place, 3);
      }
      lessee.end(5, 1);
    }
  }
}
