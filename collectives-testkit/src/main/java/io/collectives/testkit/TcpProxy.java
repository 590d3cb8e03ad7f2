package io.collectives.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** A proxy between two ranks, which can read, or change, each piece of data that passes. */
public final class TcpProxy implements AutoCloseable {

  /** A function that sees a piece of data before it passes. */
  public interface Tap {
    /**
     * A piece.
     *
     * @param bytes may be changed
     * @param at how many bytes have passed before in this direction of this connection
     */
    void pass(byte[] bytes, int length, long at);
  }

  private final ServerSocket server;
  private final int target;
  private final Tap tap;
  private final List<Socket> sockets = new ArrayList<>();

  /** Makes a proxy that passes data on to the listener at an address. */
  public TcpProxy(String address, Tap tap) {
    this.target = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    this.tap = tap;
    try {
      server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    start(this::accept);
  }

  /** Returns the address on which it listens. */
  public String address() {
    return "127.0.0.1:" + server.getLocalPort();
  }

  private void accept() throws IOException {
    while (true) {
      Socket here = server.accept();
      Socket there = new Socket("127.0.0.1", target);
      here.setTcpNoDelay(true);
      there.setTcpNoDelay(true);
      synchronized (sockets) {
        sockets.add(here);
        sockets.add(there);
      }
      start(() -> copy(here, there));
      start(() -> copy(there, here));
    }
  }

  private void copy(Socket from, Socket to) throws IOException {
    byte[] bytes = new byte[4096];
    long at = 0;
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int length = in.read(bytes); length >= 0; length = in.read(bytes)) {
        synchronized (tap) {
          tap.pass(bytes, length, at);
        }
        out.write(bytes, 0, length);
        at += length;
      }
    }
  }

  /** Breaks all connections; new ones are possible. */
  public void cut() throws IOException {
    synchronized (sockets) {
      for (Socket socket : sockets) {
        socket.close();
      }
      sockets.clear();
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    cut();
  }

  private interface Action {
    void run() throws IOException;
  }

  private static void start(Action action) {
    Thread thread =
        new Thread(
            () -> {
              try {
                action.run();
              } catch (IOException e) {
                // One of the two ends has gone.
              }
            },
            "proxy");
    thread.setDaemon(true);
    thread.start();
  }
}
