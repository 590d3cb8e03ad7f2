package io.collectives.spi;

/** The payload of a frame, as its sender has it in memory. */
public interface FrameBody {

  /** A body of no bytes that anybody may release any number of times. */
  FrameBody EMPTY =
      new FrameBody() {
        @Override
        public int length() {
          return 0;
        }

        @Override
        public void store(FrameBytes target, int at) {}

        @Override
        public void release() {}
      };

  /** The number of bytes. */
  int length();

  /**
   * Copies all bytes to {@code target}.
   *
   * @param at the index of the first, a multiple of 8
   */
  void store(FrameBytes target, int at);

  /** Says that the bytes will not be read any more. May be called by any thread. */
  void release();
}
