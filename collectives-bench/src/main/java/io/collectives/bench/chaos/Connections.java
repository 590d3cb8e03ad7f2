package io.collectives.bench.chaos;

import io.collectives.bench.process.Command;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The TCP connections between processes of this host, as ss(8) of Linux lists and resets them. A
 * reset needs the rights of root and a kernel with {@code CONFIG_INET_DIAG_DESTROY}.
 */
public final class Connections {
  /**
   * A line such as {@code ESTAB 0 0 127.0.0.1:5 [::1]:6 users:(("java",pid=7,fd=8))}, without
   * header.
   */
  private static final Pattern LINE =
      Pattern.compile("\\S+\\s+\\d+\\s+\\d+\\s+\\S+:(\\d+)\\s+\\S+:(\\d+)\\s+users:\\((.*)\\)\\s*");

  private static final int PATIENCE_MILLIS = 1_000;

  private Connections() {}

  /**
   * A connection seen from one end.
   *
   * @param users who holds it, as ss writes it
   */
  record End(int port, int peerPort, String users) {
    boolean isOf(long pid) {
      return users.matches(".*\\bpid=" + pid + "\\b.*");
    }
  }

  /** Reads what {@code ss -Htnp} wrote; ends that nobody holds any more are left out. */
  static List<End> parse(String text) {
    return text.lines()
        .map(LINE::matcher)
        .filter(Matcher::matches)
        .map(
            matcher ->
                new End(
                    Integer.parseInt(matcher.group(1)),
                    Integer.parseInt(matcher.group(2)),
                    matcher.group(3)))
        .toList();
  }

  /**
   * Resets all connections between two processes: each end gets an error at once.
   *
   * @return how many there were
   */
  static int reset(Process one, Process other) throws IOException {
    List<End> ends = parse(Command.run("ss", "-Htnp"));
    int count = 0;
    for (End end : ends) {
      boolean between =
          end.isOf(one.pid())
              && ends.stream()
                  .anyMatch(
                      far ->
                          far.isOf(other.pid())
                              && far.port() == end.peerPort()
                              && far.peerPort() == end.port());
      if (between) {
        reset(end.port(), end.peerPort());
        count++;
      }
    }
    return count;
  }

  private static void reset(int port, int peerPort) throws IOException {
    Command.run("ss", "-K", "-Htn", "sport", "=", ":" + port, "dport", "=", ":" + peerPort);
  }

  /** Why no connection can be reset here, found out by trying; empty if it can. */
  public static Optional<String> whyNot() {
    InetAddress loopback = InetAddress.getLoopbackAddress();
    try (ServerSocket server = new ServerSocket(0, 1, loopback);
        Socket near = new Socket(loopback, server.getLocalPort());
        Socket far = server.accept()) {
      reset(near.getLocalPort(), near.getPort());
      far.setSoTimeout(PATIENCE_MILLIS);
      return isReset(far)
          ? Optional.empty()
          : Optional.of("the other end of a connection that was reset saw a normal end");
    } catch (SocketTimeoutException e) {
      return Optional.of(
          "'ss -K' did nothing; it needs root and a kernel with CONFIG_INET_DIAG_DESTROY");
    } catch (IOException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  private static boolean isReset(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read() >= 0;
    } catch (SocketTimeoutException e) {
      throw e;
    } catch (IOException e) {
      return true;
    }
  }
}
