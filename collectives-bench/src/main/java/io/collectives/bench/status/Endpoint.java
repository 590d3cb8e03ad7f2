package io.collectives.bench.status;

import java.io.IOException;
import java.time.Duration;

/** A way to ask one rank. */
public interface Endpoint {
  /** The greatest length of an answer, in bytes. */
  int LONGEST_ANSWER = 64 << 20;

  /**
   * Asks the rank.
   *
   * @param request the first word says what is wanted; without an end of line
   * @param limit the time for all of it
   * @throws java.net.SocketTimeoutException if nothing comes in that time
   * @throws java.net.ConnectException if nobody listens there any more
   * @throws IOException if it cannot be asked for another reason, which the message tells
   */
  String ask(String request, Duration limit) throws IOException;

  /** The process on this host, -1 if it runs on another one. */
  long pid();

  /** For people: where the rank is. */
  String describe();
}
