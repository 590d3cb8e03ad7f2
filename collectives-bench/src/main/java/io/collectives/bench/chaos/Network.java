package io.collectives.bench.chaos;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A host for each rank, and a router that they are all plugged into, on which packets can be made
 * to vanish without a word. All of them are network namespaces of Linux:
 *
 * <pre>
 *   rank 0: eth0 10.77.0.2 ── r0 10.77.0.1 ┐
 *   rank 1: eth0 10.77.1.2 ── r1 10.77.1.1 ┤ router, whose rules "from A to B blackhole" are cuts
 *   rank 2: eth0 10.77.2.2 ── r2 10.77.2.1 ┘
 * </pre>
 *
 * <p>The hosts see nothing of a cut but that nothing comes: their interfaces and routes stay as
 * they were.
 *
 * <p>A namespace has no name; it lasts as long as a process that lives in it. That is {@code cat},
 * which ends when its standard input does, so also when this JVM is killed: nothing is left behind.
 * What is needed: the rights of root, {@code unshare} and {@code nsenter} of util-linux, and {@code
 * ip} of iproute2.
 */
public final class Network implements AutoCloseable {
  private static final int SECRET_LENGTH = 32;

  private final Process router;
  private final List<Process> hosts = new ArrayList<>();
  private final String secret;

  /**
   * Makes one.
   *
   * @throws IOException if that is not possible here, saying why
   */
  Network(int ranks) throws IOException {
    byte[] bytes = new byte[SECRET_LENGTH];
    new SecureRandom().nextBytes(bytes);
    secret = HexFormat.of().formatHex(bytes);
    router = namespace();
    try {
      for (int rank = 0; rank < ranks; rank++) {
        hosts.add(namespace());
      }
      plug();
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Why there can be none here, found out by trying; empty if there can. */
  public static Optional<String> whyNot() {
    try (Network network = new Network(2)) {
      network.cut(0, 1);
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(
          "that needs root, and unshare, nsenter and ip for network namespaces: " + e.getMessage());
    }
  }

  private static Process namespace() throws IOException {
    Process process =
        new ProcessBuilder("unshare", "--net", "cat").redirectErrorStream(true).start();
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
    return process;
  }

  private void plug() throws IOException {
    List<String> links = new ArrayList<>();
    for (int rank = 0; rank < hosts.size(); rank++) {
      long pid = hosts.get(rank).pid();
      links.add("link add r" + rank + " type veth peer name eth0 netns " + pid);
      links.add("address add 10.77." + rank + ".1/24 dev r" + rank);
      links.add("link set r" + rank + " up");
    }
    ip(router, links);
    Command.run(in(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"));
    for (int rank = 0; rank < hosts.size(); rank++) {
      ip(
          hosts.get(rank),
          List.of(
              "link set lo up",
              "address add " + address(rank) + "/24 dev eth0",
              "link set eth0 up",
              "route add default via 10.77." + rank + ".1"));
    }
  }

  private static String address(int rank) {
    return "10.77." + rank + ".2";
  }

  private static void ip(Process namespace, List<String> commands) throws IOException {
    Command.run(String.join("\n", commands) + "\n", in(namespace, "ip", "-batch", "-"));
  }

  private static List<String> in(Process namespace, String... command) {
    List<String> whole = new ArrayList<>();
    whole.add("nsenter");
    whole.add("--net=/proc/" + namespace.pid() + "/ns/net");
    whole.addAll(List.of(command));
    return whole;
  }

  /** The command that runs a command on a rank's host, as the same process. */
  List<String> on(int rank, List<String> command) {
    return in(hosts.get(rank), command.toArray(String[]::new));
  }

  /** What the process of a rank must know of its host and the others'. */
  Map<String, String> variables(int rank) {
    return Map.of(
        "MASTER_ADDR",
        address(0),
        // Below those that the host gives to whoever asks for any.
        "MASTER_PORT",
        "29500",
        "COLLECTIVES_LISTEN",
        address(rank),
        // Other addresses than loopback are not listened on without one.
        "COLLECTIVES_SECRET",
        secret);
  }

  /** From now on packets between two ranks vanish. */
  void cut(int one, int other) throws IOException {
    ip(
        router,
        List.of(
            "rule add from " + address(one) + " to " + address(other) + " blackhole",
            "rule add from " + address(other) + " to " + address(one) + " blackhole"));
  }

  /** From now on packets from and to a rank vanish. */
  void isolate(int rank) throws IOException {
    ip(
        router,
        List.of(
            "rule add from " + address(rank) + " blackhole",
            "rule add to " + address(rank) + " blackhole"));
  }

  @Override
  public void close() {
    hosts.forEach(Process::destroyForcibly);
    router.destroyForcibly();
  }
}
