package io.collectives.bench.network;

import io.collectives.bench.process.Command;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A network namespace of Linux. It has no name, and lasts as long as a process that lives in it.
 * That is {@code cat}, which ends when its standard input does, so also when this JVM is killed:
 * nothing is left behind.
 */
final class Namespace implements AutoCloseable {
  /**
   * Reno, which every kernel has, fills a link whose queue loses nothing, and keeps its window over
   * a pause. BBR, the default of some, takes a connection that had nothing to send for a slow link,
   * and leaves a quarter of the real one unused.
   */
  private static final String PATIENT_TCP =
      "cd /proc/sys/net/ipv4 && echo reno > tcp_congestion_control && echo 0 >"
          + " tcp_slow_start_after_idle";

  private final Process process;

  /**
   * Makes one.
   *
   * @throws IOException if that is not possible here, saying why
   */
  Namespace() throws IOException {
    process = new ProcessBuilder("unshare", "--net", "cat").redirectErrorStream(true).start();
    String answer;
    try {
      process.getOutputStream().write("in\n".getBytes(StandardCharsets.US_ASCII));
      process.getOutputStream().flush();
      answer = process.inputReader().readLine();
    } catch (IOException e) {
      answer = "it ended at once";
    }
    // What cat says, it says from within.
    if (!"in".equals(answer)) {
      process.destroyForcibly();
      throw new IOException("unshare --net cat: " + answer);
    }
  }

  /** Returns the process by which other namespaces name this one. */
  long pid() {
    return process.pid();
  }

  /** Runs commands of ip, a line each. */
  void ip(List<String> commands) throws IOException {
    Command.run(String.join("\n", commands) + "\n", in(List.of("ip", "-batch", "-")));
  }

  /** Runs commands of tc, a line each. */
  void tc(List<String> commands) throws IOException {
    Command.run(String.join("\n", commands) + "\n", in(List.of("tc", "-batch", "-")));
  }

  /** From now on what comes for others is passed on. */
  void forward() throws IOException {
    Command.run(in(List.of("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")));
  }

  /** From now on connections of this host fill slow links, also after a pause. */
  void waitPatiently() throws IOException {
    Command.run(in(List.of("sh", "-c", PATIENT_TCP)));
  }

  /** The command that runs a command in here, as the same process. */
  List<String> in(List<String> command) {
    List<String> whole = new ArrayList<>();
    whole.add("nsenter");
    whole.add("--net=/proc/" + process.pid() + "/ns/net");
    whole.addAll(command);
    return whole;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
