package io.collectives.testkit;

import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;

/**
 * A transport that forwards to another one, for tests that change some of its behaviour. It has no
 * capabilities unless a subclass says so, so all that it carries passes links and sinks, as bytes.
 * The threads that may use the other transport may use this one.
 */
public abstract class ForwardingTransport implements Transport {
  /**
   * The transport to which this one forwards, except in methods that a subclass overrides; it is
   * closed with this one.
   */
  protected final Transport inner;

  /** Forwards to {@code inner}. */
  protected ForwardingTransport(Transport inner) {
    this.inner = inner;
  }

  @Override
  public int rank() {
    return inner.rank();
  }

  @Override
  public int size() {
    return inner.size();
  }

  @Override
  public Link link(int peer) {
    return inner.link(peer);
  }

  @Override
  public int poll(FrameSink sink) {
    return inner.poll(sink);
  }

  @Override
  public void await(long nanos) {
    inner.await(nanos);
  }

  @Override
  public void wakeup() {
    inner.wakeup();
  }

  @Override
  public void close() {
    inner.close();
  }
}
