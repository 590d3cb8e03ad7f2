package io.collectives.spi;

import java.util.function.Consumer;

/**
 * A {@link Transport#capability capability}: a process of another host can ask this rank what it
 * does, where the rank listens for its peers. The transport makes sure that only those ask who may.
 *
 * @since 0.2.0
 */
public interface StatusRequests {
  /**
   * Sets who answers from now on; before that nobody is answered. Any thread may call it.
   *
   * @param answers is called by the thread that drives the transport
   */
  void answerBy(Answers answers);

  /** Answers requests. */
  @FunctionalInterface
  interface Answers {
    /**
     * Begins to answer; returns soon.
     *
     * @param request one line, without its end
     * @param reply to be given the answer, once, by any thread
     */
    void answer(String request, Consumer<String> reply);
  }
}
