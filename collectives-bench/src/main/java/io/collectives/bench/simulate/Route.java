package io.collectives.bench.simulate;

/**
 * The way of a transfer: the NIC of its sender's host and an uplink of its rack, the links between
 * the two ranks, an uplink and the NIC of its receiver's. Each is held while the transfer passes
 * it, and what it has carried is counted.
 *
 * <p>The first byte comes to the next as soon as it has come over the one before, one latency later
 * (cut-through). A link is held until the last byte has set out on it, so at the pace of the
 * slowest so far; a NIC or an uplink, where several take turns by the packet, for its bytes at its
 * own pace only. Of the uplinks of a rack, which are alike, a transfer takes the one that is free
 * first.
 */
final class Route {
  /** The index of the first of the numbers that are kept of a link, a NIC or an uplink. */
  private static final int FREE_AT = 0;

  private static final int HELD = 1;
  private static final int CARRIED = 2;
  private static final int KEPT = 3;

  /** Directions of what is shared. */
  private static final int OUT = 0;

  private static final int IN = 1;

  private final Network network;
  private final int ranks;

  /** By page, then by sender. */
  private final double[][] links;

  private final boolean sharing;
  private final Shared nics;
  private final Shared uplinks;

  // Of the transfer that is led.
  private final int[] path;
  private int hops;
  private int fromHost;
  private int toHost;
  private int fromRack;
  private int toRack;

  /** The time at which the first byte is where the transfer has come to. */
  double head;

  /** The time at which the last byte is there. */
  double tail;

  Route(Network network) {
    this.network = network;
    this.ranks = network.ranks();
    this.links = new double[network.pages()][];
    Hosts hosts = network.hosts();
    this.sharing = hosts.nicNanosPerByte() > 0;
    this.nics = new Shared(sharing ? network.hostCount() : 0, 1, hosts.nicNanosPerByte());
    this.uplinks =
        hosts.racks()
            ? new Shared(network.rackCount(), hosts.uplinks(), hosts.uplinkNanosPerByte())
            : new Shared(0, 1, 0);
    this.path = new int[network.longestPath()];
  }

  /** Leads from one rank to another; returns how many things are to be passed. */
  int lead(int from, int to) {
    fromHost = sharing ? network.host(from) : 0;
    toHost = sharing ? network.host(to) : 0;
    fromRack = network.rack(fromHost);
    toRack = network.rack(toHost);
    hops = network.path(from, to, path);
    return hops + 2 * before();
  }

  /** The number of shared things that are passed before the first link, and after the last. */
  private int before() {
    return fromHost == toHost ? 0 : fromRack == toRack ? 1 : 2;
  }

  /** Passes the next thing of the way, from {@link #head} on; both times go on to what follows. */
  void pass(int number, double bytes) {
    int before = before();
    int after = number - before - hops;
    if (number < before) {
      pass(number == 0 ? nics : uplinks, number == 0 ? fromHost : fromRack, OUT, bytes);
    } else if (after < 0) {
      pass(path[number - before], bytes, network.wire(path[number - before]));
    } else {
      boolean nic = after == before - 1;
      pass(nic ? nics : uplinks, nic ? toHost : toRack, IN, bytes);
    }
  }

  /** Over a link, which is held until the last byte has set out. */
  private void pass(int number, double bytes, Wire wire) {
    double[] link = link(number);
    int at = number % ranks * KEPT;
    head = Math.max(head, link[at + FREE_AT]);
    tail = Math.max(tail, head + bytes * wire.nanosPerByte());
    link[at + FREE_AT] = tail;
    link[at + HELD] += tail - head;
    link[at + CARRIED] += bytes;
    head += wire.alphaNanos();
    tail += wire.alphaNanos();
  }

  /** Through one of several that are shared, which is held for the bytes only. */
  private void pass(Shared shared, int owner, int direction, double bytes) {
    head = shared.hold(owner, direction, head, bytes);
    tail = Math.max(tail, head + bytes * shared.nanosPerByte);
  }

  /** The page of a link. */
  private double[] link(int link) {
    int number = link / ranks;
    double[] page = links[number];
    if (page == null) {
      page = new double[KEPT * ranks];
      links[number] = page;
    }
    return page;
  }

  /** Returns what has been carried, beside other things that a simulation tells. */
  Outcome outcome(double nanos, int rounds, long transfers) {
    Tally tally = new Tally();
    for (int number = 0; number < links.length; number++) {
      for (int at = 0; links[number] != null && at < ranks; at++) {
        int link = number * ranks + at;
        double[] page = links[number];
        tally.add(
            network.linkClass(link),
            page[at * KEPT + CARRIED],
            page[at * KEPT + HELD],
            () -> network.name(link));
      }
    }
    nics.addTo(tally, LinkClass.NIC, "host ");
    uplinks.addTo(tally, LinkClass.UPLINK, "rack ");
    return tally.outcome(nanos, rounds, transfers);
  }

  /** NICs of hosts, or uplinks of racks: for each several, in either direction. */
  private static final class Shared {
    private final int each;
    private final double nanosPerByte;
    private final double[] kept;

    Shared(int owners, int each, double nanosPerByte) {
      this.each = each;
      this.nanosPerByte = nanosPerByte;
      this.kept = new double[Math.multiplyExact(owners, 2 * each * KEPT)];
    }

    /** Holds the one that is free first, from a time on or later; returns from when. */
    double hold(int owner, int direction, double earliest, double bytes) {
      int at = firstFree(owner, direction);
      double start = Math.max(earliest, kept[at + FREE_AT]);
      kept[at + FREE_AT] = start + bytes * nanosPerByte;
      kept[at + HELD] += bytes * nanosPerByte;
      kept[at + CARRIED] += bytes;
      return start;
    }

    private int firstFree(int owner, int direction) {
      int first = (owner * 2 + direction) * each * KEPT;
      int free = first;
      for (int at = first + KEPT; at < first + each * KEPT; at += KEPT) {
        if (kept[at + FREE_AT] < kept[free + FREE_AT]) {
          free = at;
        }
      }
      return free;
    }

    void addTo(Tally tally, LinkClass links, String owner) {
      for (int at = 0; at < kept.length; at += KEPT) {
        int number = at / KEPT / each;
        tally.add(
            links,
            kept[at + CARRIED],
            kept[at + HELD],
            () -> owner + number / 2 + (number % 2 == OUT ? " out" : " in"));
      }
    }
  }
}
