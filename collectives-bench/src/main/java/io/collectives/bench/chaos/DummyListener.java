package io.collectives.bench.chaos;

import io.collectives.bench.process.ParentLines;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A process that accepts each connection and closes it at once. It says {@code listening PORT} and
 * ends with its parent.
 */
public final class DummyListener {
  private static final int BACKLOG = 128;

  private DummyListener() {}

  /** Listens until the parent ends. */
  public static void run(ParentLines parent, PrintStream out) throws IOException {
    try (ServerSocket server = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress())) {
      Thread thread = new Thread(() -> closeAfter(parent, server), "parent");
      thread.setDaemon(true);
      thread.start();
      out.println("listening " + server.getLocalPort());
      out.flush();
      while (!server.isClosed()) {
        try (Socket socket = server.accept()) {
          socket.setTcpNoDelay(true);
        } catch (IOException e) {
          // The peer has closed the connection already, or this process ends.
        }
      }
    }
  }

  private static void closeAfter(ParentLines parent, ServerSocket server) {
    try (server) {
      while (parent.next().isPresent()) {
        // Nothing is said to this process.
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      // It is of no use any more.
    }
  }
}
