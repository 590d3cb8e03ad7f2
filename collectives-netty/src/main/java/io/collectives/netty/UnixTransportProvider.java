package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.TransportProvider;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;

/**
 * Transport {@code unix}: Unix-domain sockets, between processes of one host that belong to one
 * user. The same as {@code tcp} but for the address: admission by the job's secret, TLS and
 * checksums work alike.
 *
 * <p><b>Where.</b> In {@code settings.memoryDirectory()}; if there is none, in {@code /dev/shm}
 * where the host has it, else where Java's temporary files are. The rank makes a directory there
 * (mode 0700) for its socket, and deletes both when it leaves. The path must be short, as the
 * system has room for {@link SocketDirectory#PATH_LENGTH} bytes; where it is longer, and on hosts
 * whose file systems know no such permissions or that have no such sockets, joining fails. {@code
 * listen} and {@code port} mean nothing here.
 */
public final class UnixTransportProvider implements TransportProvider {
  static final String NAME = TcpTransport.UNIX;

  private final Supplier<SocketKind> kinds;
  private final int slotCount;

  /** For {@link java.util.ServiceLoader}. */
  public UnixTransportProvider() {
    this(SocketKind::bestUnix, TcpTransport.SLOTS);
  }

  /** A provider with fewer slots, or the other kind of sockets, than is best. */
  UnixTransportProvider(SocketKind kind, int slotCount) {
    this(() -> kind, slotCount);
  }

  /**
   * A provider of fewer slots, or other sockets.
   *
   * @param kinds asked when a rank listens, not before: the best kind may load a native library
   */
  private UnixTransportProvider(Supplier<SocketKind> kinds, int slotCount) {
    this.kinds = kinds;
    this.slotCount = slotCount;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Endpoint listen(JobSettings settings) {
    NettyClasses.check(settings);
    Tls tls = Tls.of(settings);
    SocketKind kind = kinds.get();
    Path wanted = settings.memoryDirectory();
    Path place = wanted == null ? RankDirectory.usualPlace() : wanted;
    SocketDirectory directory = null;
    try {
      directory = SocketDirectory.create(place, RankDirectory.YOUNG_MILLIS);
      return new SocketEndpoint(
          settings,
          Listening.bind(settings, kind, kind.address(directory.socket())),
          directory.toString(),
          slotCount,
          tls,
          directory);
    } catch (IOException | UnsupportedOperationException e) {
      if (directory != null) {
        directory.delete();
      }
      throw new JoinException(
          "rank "
              + settings.rank()
              + " cannot listen on a Unix-domain socket in "
              + place
              + ": "
              + e
              + "; choose another directory with COLLECTIVES_MEMORY_DIRECTORY or"
              + " JobSettings.withMemoryDirectory, or --transport tcp",
          e);
    }
  }
}
