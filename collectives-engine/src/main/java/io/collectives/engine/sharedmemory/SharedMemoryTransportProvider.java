package io.collectives.engine.sharedmemory;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.internal.HostAddress;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Transport {@code shm}: between processes of one host that belong to one user.
 *
 * <p><b>Where.</b> In {@code settings.memoryDirectory()}; if there is none, in {@code /dev/shm}
 * where the host has it, else where Java's temporary files are. The rank makes a directory there
 * (mode 0700), and deletes it when it is linked with all others or leaves. Files of rings and
 * regions (mode 0600) are there for the moment between their making and their mapping by the peers;
 * for a region the directory is made again. On a host whose file systems know no such permissions,
 * or that has no Unix-domain sockets, joining fails.
 *
 * <p><b>Security.</b> Only the same user, and root, can enter the directory, and so find the socket
 * or a ring. These can read the memory of the process, with the job secret, anyway; so ranks do not
 * prove to each other here that they know it. They do compare the job epoch, the size, both ranks,
 * and whether bodies have checksums. TLS is not used: nothing leaves the host. {@code listen} and
 * {@code port} mean nothing here.
 */
public final class SharedMemoryTransportProvider implements TransportProvider {

  /** By which users ask for it. */
  public static final String NAME = SharedMemoryTransport.NAME;

  /** For {@link java.util.ServiceLoader}. */
  public SharedMemoryTransportProvider() {}

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Endpoint listen(JobSettings settings) {
    Path wanted = settings.memoryDirectory();
    Path place = wanted == null ? RankDirectory.usualPlace() : wanted;
    Path directory = null;
    try {
      directory =
          RankDirectory.create(
              place, NAME, HostAddress.here(place).boot(), RankDirectory.YOUNG_MILLIS);
      return new RankEndpoint(settings, HostAddress.here(directory));
    } catch (IOException | UnsupportedOperationException e) {
      if (directory != null) {
        RankDirectory.deleteDead(directory);
      }
      throw new JoinException(
          "rank "
              + settings.rank()
              + " cannot be reached through shared memory in "
              + place
              + ": "
              + e
              + "; choose another directory with COLLECTIVES_MEMORY_DIRECTORY or"
              + " JobSettings.withMemoryDirectory, or --transport tcp",
          e);
    }
  }

  private static final class RankEndpoint implements Endpoint {
    private final JobSettings settings;
    private final HostAddress address;
    private final ServerSocketChannel server;
    private boolean done;

    RankEndpoint(JobSettings settings, HostAddress address) throws IOException {
      this.settings = settings;
      this.address = address;
      if (!address.isPrintable()) {
        throw new IOException(
            "its path is too long, or has characters that are not ASCII: " + address.directory());
      }
      server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
      try {
        Path socket = address.socket();
        // Nobody is accepted before there is a roster to check them by; until then they wait.
        server.bind(UnixDomainSocketAddress.of(socket), Math.max(128, settings.size()));
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
        server.configureBlocking(false);
      } catch (IOException e) {
        server.close();
        throw e;
      }
    }

    @Override
    public String address() {
      return address.toString();
    }

    @Override
    public synchronized Transport open(Roster roster) {
      if (done) {
        throw new IllegalStateException("the endpoint " + address + " has been opened or closed");
      }
      if (roster.addresses().size() != settings.size()) {
        throw new IllegalArgumentException(
            roster.addresses().size() + " addresses for a job of " + settings.size() + " ranks");
      }
      List<@Nullable HostAddress> peers = address.peers(settings, roster, "they share no memory");
      Selector selector = null;
      try {
        selector = Selector.open();
        Transport transport =
            new SharedMemoryTransport(settings, roster.epoch(), peers, selector, server);
        done = true;
        return transport;
      } catch (IOException e) {
        if (selector != null) {
          try {
            selector.close();
          } catch (IOException again) {
            e.addSuppressed(again);
          }
        }
        throw new JoinException("rank " + settings.rank() + " cannot wait for its peers", e);
      }
    }

    @Override
    public synchronized void close() {
      if (!done) {
        done = true;
        try {
          server.close();
        } catch (IOException e) {
          throw new JoinException("cannot close " + address, e);
        } finally {
          RankDirectory.deleteDead(address.directory());
        }
      }
    }
  }
}
