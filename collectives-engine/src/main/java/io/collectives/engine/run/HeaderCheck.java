package io.collectives.engine.run;

import io.collectives.spi.FrameHeader;
import org.jspecify.annotations.Nullable;

/**
 * What a header must be whatever calls a rank has made. What it must be in the calls under way is
 * checked where they are known, in {@link Arrivals}.
 */
final class HeaderCheck {
  /**
   * How many calls of a group a rank may be ahead of another one. Nearly every call needs something
   * of every rank, which keeps them together; but ranks may make some without one that is sent
   * nothing in them.
   */
  static final long MOST_CALLS_AHEAD = 1 << 20;

  private HeaderCheck() {}

  /**
   * What is wrong with a header, nothing if it can be right.
   *
   * @param mostNotice the most bytes of a notice
   */
  static @Nullable String nonsense(FrameHeader head, int mostNotice) {
    if (head.kind != FrameHeader.Kind.HEARTBEAT && head.group == 0) {
      return "no group has the number 0";
    }
    if (head.sequence < 0) {
      return "calls are numbered from 0";
    }
    return switch (head.kind) {
      case DATA -> head.length < 0 ? "its body has no length" : null;
      case ECHO ->
          hasBody(head) || hasPlace(head) || head.round != 0 || head.tag != 0
              ? "an echo says of which slab it is, and no more"
              : null;
      case WAITING ->
          hasBody(head) || hasPlace(head) || head.slab != 0 || head.round < 0 || head.tag < 0
              ? "who waits says in which call, how many frames it has sent, and which calls it has"
                  + " ended, and no more"
              : null;
      case HEARTBEAT ->
          hasBody(head) || head.group != 0 || hasCall(head) ? "a heartbeat says nothing" : null;
      case FAILURE ->
          hasCall(head) || head.length < Failure.LEAST_LENGTH || head.length > Failure.MAX_LENGTH
              ? "a notice of a failure has "
                  + Failure.LEAST_LENGTH
                  + " to "
                  + Failure.MAX_LENGTH
                  + " bytes, and is of no call"
              : null;
      case AGREEMENT ->
          hasCall(head) || head.length <= 0 || head.length > mostNotice
              ? "a ballot has 1 to " + mostNotice + " bytes, and is of no call"
              : null;
    };
  }

  private static boolean hasBody(FrameHeader head) {
    return head.length != 0;
  }

  private static boolean hasPlace(FrameHeader head) {
    return head.lane != 0 || head.firstChunk != 0 || head.chunkCount != 0;
  }

  private static boolean hasCall(FrameHeader head) {
    long words = 0;
    for (long word : head.call) {
      words |= word;
    }
    return hasPlace(head)
        || head.round != 0
        || head.slab != 0
        || head.sequence != 0
        || head.tag != 0
        || words != 0;
  }
}
