package io.collectives.testkit;

import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;

/**
 * A transport that does what another one does, for tests that change some of it. It has no
 * capabilities unless a subclass says so, so all that it carries passes links and sinks, as bytes.
 * May be used by the threads that may use the other one.
 */
public abstract class ForwardingTransport implements Transport {
  /** What this one does, but for what is overridden; closed with it. */
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
