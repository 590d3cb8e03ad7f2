package io.collectives.netty;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A connection as either side of a rendezvous sees it. So neither side knows sockets, nor waits:
 * {@link RendezvousSockets} are what it runs on, and simulations are.
 */
interface Line {

  /** Sends bytes, as soon as the network takes them. */
  void send(byte[] bytes);

  /** Ends the connection when what was sent has left. */
  void finish();

  /** Ends the connection now. */
  void close();

  /** The side that receives what comes over a line. Times are in nanoseconds, by any clock. */
  interface Party {

    /** The connection is there. */
    void connected(long now);

    /** Returns the number of bytes that may come next, at least one; no more are read. */
    int room();

    /** Bytes have come, no more than there was {@link #room} for. */
    void received(ByteBuffer bytes, long now);

    /**
     * There is no connection any more, or never was one, unless this side has closed it.
     *
     * @param why what broke it; nothing if it came to its end
     */
    void ended(@Nullable IOException why, long now);
  }
}
