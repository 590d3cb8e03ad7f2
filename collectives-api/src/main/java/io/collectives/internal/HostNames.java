package io.collectives.internal;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Looks up names of hosts within a limit. The system's resolver, which the JDK asks, has none: with
 * a name server that does not answer it may take minutes, and nothing interrupts it.
 */
public final class HostNames {
  private HostNames() {}

  /**
   * Begins to look a name up, on a daemon thread of its own, which lives until the resolver
   * answers.
   *
   * @param host a name, or an address by its numbers
   * @return the first of its addresses, or an {@link UnknownHostException}
   */
  public static CompletableFuture<InetAddress> lookUp(String host) {
    return lookUp(host, InetAddress::getByName);
  }

  /** The look-up of a name by the system's resolver. */
  interface Resolver {
    InetAddress find(String host) throws UnknownHostException;
  }

  static CompletableFuture<InetAddress> lookUp(String host, Resolver resolver) {
    CompletableFuture<InetAddress> answer = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                answer.complete(resolver.find(host));
              } catch (UnknownHostException | RuntimeException e) {
                answer.completeExceptionally(e);
              }
            },
            "collectives looks up a host");
    thread.setDaemon(true);
    thread.start();
    return answer;
  }

  /**
   * Looks a name up.
   *
   * @throws UnknownHostException if there is no such host, if the resolver has not answered within
   *     the limit, or if this thread is interrupted, which it still is then
   */
  public static InetAddress lookUp(String host, Duration limit) throws UnknownHostException {
    return await(host, lookUp(host), limit);
  }

  static InetAddress await(String host, CompletableFuture<InetAddress> answer, Duration limit)
      throws UnknownHostException {
    try {
      return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw unknown(host, e);
    } catch (TimeoutException e) {
      throw new UnknownHostException(
          host + ": the resolver of this host gave no answer within " + limit.toMillis() + " ms");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UnknownHostException(host + ": interrupted while it was looked up");
    }
  }

  /**
   * Returns the exception to throw for a failed look-up of a name.
   *
   * @param failure as a future wraps it
   */
  public static UnknownHostException unknown(String host, Exception failure) {
    Throwable cause = failure.getCause() == null ? failure : failure.getCause();
    if (cause instanceof UnknownHostException e) {
      return e;
    }
    UnknownHostException e = new UnknownHostException(host + ": " + cause.getMessage());
    e.initCause(cause);
    return e;
  }
}
