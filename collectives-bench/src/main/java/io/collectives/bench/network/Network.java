package io.collectives.bench.network;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

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
 * <p>Links can be given a rate. A token bucket (tbf of tc) then stands at both ends of each: at a
 * host's {@code eth0} for what it sends, at the router's end for what it receives, so that each
 * host has the rate each way, whoever it speaks with. A bucket holds a piece of 64 KiB as TCP hands
 * it on, so that none has to be cut; that much is sent at once after a pause. Its queue holds half
 * a second, so that some ten hosts can send to one without loss.
 *
 * <p>What is needed: the rights of root, {@code unshare} and {@code nsenter} of util-linux, and
 * {@code ip} of iproute2, and for a rate its {@code tc}.
 */
public final class Network implements Hosts {

  /** A piece of 64 KiB with a header for each of its packets, and some to spare. */
  private static final int LEAST_BURST = 80 << 10;

  /** The time of the bytes that pass while a busy kernel is late to look at the bucket. */
  private static final double BURST_SECONDS = 0.002;

  private static final String QUEUE = "500ms";

  private final Namespace router;
  private final List<Namespace> hosts = new ArrayList<>();
  private final Secret secret = new Secret();

  /**
   * Makes one whose links are as fast as the machine.
   *
   * @throws IOException if that is not possible here, saying why
   */
  public Network(int ranks) throws IOException {
    this(ranks, null);
  }

  /**
   * Makes one.
   *
   * @param ranks from 1 to 256
   * @param rate of each link, each way; if null, as fast as the machine
   * @throws IOException if that is not possible here, saying why
   */
  public Network(int ranks, @Nullable LinkRate rate) throws IOException {
    router = new Namespace();
    try {
      for (int rank = 0; rank < ranks; rank++) {
        hosts.add(new Namespace());
      }
      plug();
      if (rate != null) {
        shape(rate);
      }
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

  /** Why there can be none with links of a rate here, found out by trying; empty if there can. */
  public static Optional<String> whyNoRates() {
    try {
      new Network(1, LinkRate.parse("100Mbit/s")).close();
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(
          "each rank needs a host of its own, a network namespace of Linux: that needs root, and"
              + " unshare, nsenter, ip and tc: "
              + e.getMessage());
    }
  }

  private void plug() throws IOException {
    List<String> links = new ArrayList<>();
    for (int rank = 0; rank < hosts.size(); rank++) {
      long pid = hosts.get(rank).pid();
      links.add("link add r" + rank + " type veth peer name eth0 netns " + pid);
      links.add("address add 10.77." + rank + ".1/24 dev r" + rank);
      links.add("link set r" + rank + " up");
    }
    router.ip(links);
    router.forward();
    for (int rank = 0; rank < hosts.size(); rank++) {
      hosts
          .get(rank)
          .ip(
              List.of(
                  "link set lo up",
                  "address add " + address(rank) + "/24 dev eth0",
                  "link set eth0 up",
                  "route add default via 10.77." + rank + ".1"));
    }
  }

  private void shape(LinkRate rate) throws IOException {
    String bucket = bucket(rate);
    List<String> ends = new ArrayList<>();
    for (int rank = 0; rank < hosts.size(); rank++) {
      ends.add("qdisc add dev r" + rank + bucket);
      hosts.get(rank).tc(List.of("qdisc add dev eth0" + bucket));
      hosts.get(rank).waitPatiently();
    }
    router.tc(ends);
  }

  /** Returns what gives the sending end of a link a rate. */
  static String bucket(LinkRate rate) {
    long burst = Math.max(LEAST_BURST, (long) (rate.bitsPerSecond() / 8 * BURST_SECONDS));
    return " root tbf rate " + rate.bitsPerSecond() + "bit burst " + burst + " latency " + QUEUE;
  }

  private static String address(int rank) {
    return "10.77." + rank + ".2";
  }

  @Override
  public List<String> on(int rank, List<String> command) {
    return hosts.get(rank).in(command);
  }

  @Override
  public int hosts() {
    return hosts.size();
  }

  @Override
  public Map<String, String> variables(int rank) {
    return secret.variables(address(0), address(rank));
  }

  /** From now on packets between two ranks vanish. */
  public void cut(int one, int other) throws IOException {
    router.ip(
        List.of(
            "rule add from " + address(one) + " to " + address(other) + " blackhole",
            "rule add from " + address(other) + " to " + address(one) + " blackhole"));
  }

  /** From now on packets from and to a rank vanish. */
  public void isolate(int rank) throws IOException {
    router.ip(
        List.of(
            "rule add from " + address(rank) + " blackhole",
            "rule add to " + address(rank) + " blackhole"));
  }

  @Override
  public void close() {
    hosts.forEach(Namespace::close);
    router.close();
  }
}
