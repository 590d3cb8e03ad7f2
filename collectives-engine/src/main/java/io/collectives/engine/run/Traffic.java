package io.collectives.engine.run;

/**
 * Counts what has passed between this rank and each of its peers: the frames of data, and the bytes
 * of their bodies. The bytes count whether they are copied, are read where they lie, or go by
 * inline exchange. Headers, echoes, signs of life and news of failures do not count.
 */
final class Traffic {
  private final long[] framesSent;
  private final long[] bytesSent;
  private final long[] framesReceived;
  private final long[] bytesReceived;

  Traffic(int ranks) {
    framesSent = new long[ranks];
    bytesSent = new long[ranks];
    framesReceived = new long[ranks];
    bytesReceived = new long[ranks];
  }

  /** A frame has gone to a peer, a rank of the job. */
  void sent(int peer, int length) {
    framesSent[peer]++;
    bytesSent[peer] += length;
  }

  /** A frame from a peer has begun to arrive. */
  void received(int peer, int length) {
    framesReceived[peer]++;
    bytesReceived[peer] += length;
  }

  /** Returns whether anything has passed. */
  boolean isUsed(int peer) {
    return framesSent[peer] != 0 || framesReceived[peer] != 0;
  }

  /** Appends four numbers, each after a tab: frames and bytes sent, frames and bytes received. */
  void append(StringBuilder text, int peer) {
    text.append('\t').append(framesSent[peer]).append('\t').append(bytesSent[peer]);
    text.append('\t').append(framesReceived[peer]).append('\t').append(bytesReceived[peer]);
  }
}
