package io.collectives.spi;

import org.jspecify.annotations.Nullable;

/**
 * The receiver of what arrives by a transport. For each frame of a link: {@link #header} once;
 * then, if its length is not zero, {@link #bytes} as often as it takes. Frames of one link do not
 * mix; those of different links may.
 */
public interface FrameSink {

  /**
   * A frame begins.
   *
   * @param header valid during this call only. That it is one of this job's, and {@linkplain
   *     FrameHeader#check what can be in any header}, has been checked, all else has not
   */
  void header(Link link, FrameHeader header);

  /**
   * The next bytes of the frame's body, which the sink uses or copies before it returns.
   *
   * @param at the index of the first, a multiple of 8 wherever a piece begins at a multiple of 8 in
   *     the body
   * @param length how many, at least 1; a multiple of 8 unless they are the last of the frame
   */
  void bytes(Link link, FrameBytes source, int at, int length);

  /**
   * No further frame will come on this link, and none that is sent will arrive. Called at most once
   * for each link, after all that has come.
   *
   * @param cause nothing if the peer said that it leaves; a {@link BrokenLinkException} if the peer
   *     lives, but this rank is the one to give way
   */
  void lost(Link link, @Nullable Throwable cause);
}
