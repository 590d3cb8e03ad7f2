package io.collectives.engine.run;

import io.collectives.engine.memory.Scratch;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JZ_Result;
import org.openjdk.jcstress.infra.results.ZJ_Result;

/** Frames that are revoked while their receiver reads them, or wants to write to their memory. */
public class OutFrameStress {
  private static final long LEASED = 1;
  private static final long OF_THE_USER = 2;
  private static final long SUM = 3;

  private OutFrameStress() {}

  /** A reader that has read what the user has written after the revoking finds out. */
  @JCStressTest
  @Outcome(id = "1, false", expect = Expect.ACCEPTABLE, desc = "read in time")
  @Outcome(
      id = {"1, true", "2, true"},
      expect = Expect.ACCEPTABLE,
      desc = "found out")
  @Outcome(id = "2, false", expect = Expect.FORBIDDEN, desc = "the user's number is taken")
  @State
  public static class Read {
    private final OutFrame frame = new OutFrame(SCRATCH);
    private long memory = LEASED;

    /** Its call fails. */
    @Actor
    public void sender() {
      frame.revoke();
      memory = OF_THE_USER;
    }

    /** Reads. */
    @Actor
    public void receiver(JZ_Result seen) {
      seen.r1 = memory;
      seen.r2 = frame.isRevoked();
    }
  }

  /** No receiver writes to memory that its user has got back. */
  @JCStressTest
  @Outcome(id = "true, 3", expect = Expect.ACCEPTABLE, desc = "the sender has waited")
  @Outcome(id = "false, 1", expect = Expect.ACCEPTABLE, desc = "revoked in time")
  @Outcome(expect = Expect.FORBIDDEN, desc = "written later, or not seen")
  @State
  public static class Write {
    private final OutFrame frame = new OutFrame(SCRATCH);
    private long memory = LEASED;

    /** Its call fails. */
    @Actor
    public void sender(ZJ_Result seen) {
      frame.revoke();
      seen.r2 = memory;
    }

    /** Puts a sum into the sender's memory. */
    @Actor
    public void receiver(ZJ_Result seen) {
      seen.r1 = frame.holdOpen();
      if (seen.r1) {
        memory = SUM;
      }
      frame.release();
    }
  }

  /** The receiver's bytes are there when the frame is back. */
  @JCStressTest
  @Outcome(id = "false, 0", expect = Expect.ACCEPTABLE, desc = "not back yet")
  @Outcome(id = "true, 3", expect = Expect.ACCEPTABLE, desc = "back, with the sum")
  @Outcome(expect = Expect.FORBIDDEN, desc = "back without the sum")
  @State
  public static class Release {
    private final OutFrame frame = new OutFrame(SCRATCH);
    private long memory = LEASED;

    /** Looks whether it is back. */
    @Actor
    public void sender(ZJ_Result seen) {
      seen.r1 = frame.isReleased();
      seen.r2 = seen.r1 ? memory : 0;
    }

    /** Puts a sum into the sender's memory. */
    @Actor
    public void receiver() {
      if (frame.holdOpen()) {
        memory = SUM;
      }
      frame.release();
    }
  }

  private static final Scratch SCRATCH = new Scratch();
}
