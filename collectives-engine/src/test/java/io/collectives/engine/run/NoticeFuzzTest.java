package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A message beside payloads comes from elsewhere: whatever it is, it is read as what it says or
 * refused, and no more is allocated than arrived.
 */
@Tag("once")
class NoticeFuzzTest {
  private static final int INPUTS = 20_000;

  /** Reads bytes, or throws. */
  private interface Decoder {
    Object read(FrameBytes bytes, int length);
  }

  @Test
  void noticesAreReadOrRefused() {
    Failure failure = new Failure(Failure.Kind.LATE, 3, 4, 17, "rank 4 \u2026 waits", null);
    assertEquals(failure, Failure.read(bytes(failure.body()), failure.body().length(), 5));
    fuzz(1, failure.body(), (bytes, length) -> Failure.read(bytes, length, 5));
  }

  @Test
  void ballotsAreReadOrRefused() {
    BitSet failed = BitSet.valueOf(new long[] {0b1010, 1});
    BitSet dead = BitSet.valueOf(new long[] {0b1000});
    Ballot.Outcome outcome = new Ballot.Outcome(failed, 11, null);
    Ballot ballot =
        new Ballot(
            Ballot.Topic.SURVIVORS,
            Ballot.Kind.PROPOSE,
            1L << 33,
            new Ballot.GroupState(70, 12, failed, dead),
            outcome,
            null);
    assertEquals(ballot, Ballot.read(bytes(ballot.body()), ballot.body().length(), 70, 80));
    fuzz(2, ballot.body(), (bytes, length) -> Ballot.read(bytes, length, 70, 80));
    fuzz(3, ballot.body(), (bytes, length) -> Ballot.read(bytes, length, 4096, 4096));
    Failure why = new Failure(Failure.Kind.DEAD, 3, 4, "rank 4 is lost");
    Ballot verdict =
        new Ballot(
            Ballot.Topic.VERDICT,
            Ballot.Kind.DECIDE,
            1,
            new Ballot.GroupState(70, 0, failed, dead),
            new Ballot.Outcome(failed, 0, why),
            why);
    assertEquals(verdict, Ballot.read(bytes(verdict.body()), verdict.body().length(), 70, 80));
    fuzz(4, verdict.body(), (bytes, length) -> Ballot.read(bytes, length, 70, 80));
  }

  private static FrameBytes bytes(FrameBody body) {
    FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(body.length() + 7 & ~7));
    body.store(bytes, 0);
    return bytes;
  }

  /** Random bytes, and the right ones with some changed or cut off. */
  private static void fuzz(long seed, FrameBody right, Decoder decoder) {
    Random random = new Random(seed);
    int refused = 0;
    for (int i = 0; i < INPUTS; i++) {
      FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(Failure.MAX_LENGTH));
      int length = random.nextInt(Failure.MAX_LENGTH);
      if (random.nextBoolean()) {
        right.store(bytes, 0);
        length = random.nextBoolean() ? right.length() : random.nextInt(right.length());
        for (int changes = random.nextInt(4); changes > 0; changes--) {
          bytes.bytes().put(random.nextInt(right.length()), (byte) random.nextInt());
        }
      } else {
        byte[] noise = new byte[length];
        random.nextBytes(noise);
        bytes.bytes().put(0, noise);
      }
      try {
        decoder.read(bytes, length);
      } catch (ProtocolException e) {
        refused++;
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed + ", input " + i, e);
      }
    }
    assertTrue(refused > INPUTS / 4, refused + " refused");
  }
}
