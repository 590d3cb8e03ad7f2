package io.collectives.engine.inprocess;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJZ_Result;

/** A frame is seen whole or not at all, also by the slot that another one has just left. */
@JCStressTest
@Outcome(id = "-1, -1, false", expect = Expect.ACCEPTABLE, desc = "not there yet")
@Outcome(id = "7, 8, true", expect = Expect.ACCEPTABLE, desc = "all of it")
@Outcome(expect = Expect.FORBIDDEN, desc = "a part of it")
@State
public class FrameQueueStress {
  private static final int SLOTS = 64;

  private final FrameQueue queue = new FrameQueue();
  private final FrameHeader header = new FrameHeader();
  private final FrameBody body = new Body();

  /** The queue goes round once. */
  public FrameQueueStress() {
    FrameHeader other = new FrameHeader();
    for (int i = 0; i < SLOTS; i++) {
      queue.offer(other, FrameBody.EMPTY);
      queue.remove();
    }
    header.sequence = 7;
    header.group = 8;
  }

  /** Sends. */
  @Actor
  public void writer() {
    queue.offer(header, body);
  }

  /** Receives. */
  @Actor
  public void reader(JJZ_Result seen) {
    FrameQueue.Slot slot = queue.peek();
    seen.r1 = slot == null ? -1 : slot.header.sequence;
    seen.r2 = slot == null ? -1 : slot.header.group;
    seen.r3 = slot != null && slot.body == body;
  }

  private static final class Body implements FrameBody {
    @Override
    public int length() {
      return 0;
    }

    @Override
    public void store(io.collectives.spi.FrameBytes target, int at) {}

    @Override
    public void release() {}
  }
}
