package io.collectives.spi;

/**
 * The receiver of frames whose bodies stay where they are; see {@link BodyViews} and {@link
 * MemoryLeases}. Called from within {@link Transport#poll}, in the order of the frames of a link,
 * with those that the {@link FrameSink} gets.
 */
public interface ViewSink {

  /**
   * A whole frame that has a body.
   *
   * @param header as for {@link FrameSink#header}
   * @param body as its sender has offered it, or a {@link LeasedBody}; the sink owes it a {@link
   *     FrameBody#release}, now or later
   */
  void view(Link link, FrameHeader header, FrameBody body);
}
