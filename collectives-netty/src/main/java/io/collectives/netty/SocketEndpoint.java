package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.internal.Log;
import io.collectives.spi.Roster;
import io.collectives.spi.TransportProvider;
import org.jspecify.annotations.Nullable;

/** A rank that listens, by TCP or on a Unix-domain socket. */
final class SocketEndpoint implements TransportProvider.Endpoint {

  private static final Log LOG = Log.of(SocketEndpoint.class);

  private final JobSettings settings;
  private final Listening listening;
  private final String address;
  private final int slotCount;
  private final @Nullable Tls tls;
  private final @Nullable SocketDirectory directory;
  private final int envelopeLength;
  private boolean done;

  /**
   * Takes over a socket.
   *
   * @param address what is announced
   * @param directory that of a Unix-domain socket, which is deleted in the end; nothing for TCP
   */
  SocketEndpoint(
      JobSettings settings,
      Listening listening,
      String address,
      int slotCount,
      @Nullable Tls tls,
      @Nullable SocketDirectory directory) {
    this(settings, listening, address, slotCount, tls, directory, 0);
  }

  /**
   * Takes over a socket of one of several paths.
   *
   * @param envelopeLength what bodies may be longer by than the settings say
   */
  SocketEndpoint(
      JobSettings settings,
      Listening listening,
      String address,
      int slotCount,
      @Nullable Tls tls,
      @Nullable SocketDirectory directory,
      int envelopeLength) {
    this.settings = settings;
    this.listening = listening;
    this.address = address;
    this.slotCount = slotCount;
    this.tls = tls;
    this.directory = directory;
    this.envelopeLength = envelopeLength;
  }

  @Override
  public String address() {
    return address;
  }

  @Override
  public synchronized TcpTransport open(Roster roster) {
    if (done) {
      throw new IllegalStateException("the endpoint " + address + " has been opened or closed");
    }
    if (directory != null) {
      directory.checkPeers(settings, roster);
    } else {
      PathsTransport.rosters(roster, settings.rank(), 1); // All have one path.
    }
    TcpTransport transport =
        new TcpTransport(settings, roster, listening, slotCount, tls, directory, envelopeLength);
    done = true;
    if (!listening.kind().isNative()) {
      SocketKind.advice().ifPresent(LOG::info);
    }
    return transport;
  }

  @Override
  public synchronized void close() {
    if (done) {
      return;
    }
    done = true;
    listening.loop().enter();
    try {
      listening.server().close();
      listening.loop().destroy();
    } finally {
      listening.loop().leave();
    }
    if (directory != null) {
      directory.delete();
    }
  }
}
