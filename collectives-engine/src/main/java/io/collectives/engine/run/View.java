package io.collectives.engine.run;

import io.collectives.ElementType;
import io.collectives.engine.memory.Memory;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import org.jspecify.annotations.Nullable;

/**
 * A frame as its receiver may use it: the sender's memory, be it of a thread of this process
 * ({@link OutFrame}) or of another process ({@link LeasedFrame}), or a copy that the sender has
 * made. There is a piece for each chunk of the transfer. What may be done with it, and how to ask,
 * is explained with {@link OutFrame}.
 */
interface View extends FrameBody {

  /**
   * Returns whether the receiver has the bytes already, from a {@linkplain Program.FusedReduction
   * fused reduction}.
   */
  boolean isPlaced();

  /** A copy that the sender has made of its memory; nothing if that itself is to be read. */
  @Nullable FrameBytes copy();

  /** The memory that holds a piece. */
  Memory source(ElementType type, int piece);

  /** The first element of the piece in it. */
  long sourceAt(int piece);

  /** The memory that the sender wants the result of a fused reduction in, if it can be reached. */
  @Nullable Memory target(ElementType type, int piece);

  /** The first element of the result in it. */
  long targetAt(int piece);

  /**
   * Keeps the sender's memory what it is until {@link #release}, even if its call fails. To be
   * asked by the receiver before it writes there.
   *
   * @return whether it does; if not, the sender's call has failed
   */
  boolean holdOpen();

  /**
   * Returns whether bytes that a receiver has just read may have been written over by the sender's
   * user; to be asked after reading.
   */
  boolean isRevoked();
}
