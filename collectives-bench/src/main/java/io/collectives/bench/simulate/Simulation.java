package io.collectives.bench.simulate;

import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import java.util.Arrays;

/**
 * Moves clocks through a plan. One number for each part (slab) of each chunk of each rank says when
 * it is ready; nothing waits for a round to end.
 *
 * <p><b>The model.</b> A transfer sets out when its chunks are ready at the sender. It passes what
 * is on its way one after the other, and is let in when that is free: the NIC of its sender's host
 * and an uplink of its rack, the links of the way, an uplink and the NIC of its receiver's. Its
 * first byte is let in to the next as soon as it has come over the one before, one latency later
 * (cut-through), and waits in a buffer, which is never full, when that is taken. A link is held
 * until the last byte has set out on it, so at the pace of the slowest so far; a NIC or an uplink,
 * where several take turns by the packet, for its bytes at its own pace only. What is to be added
 * is then added, at so much a byte; each lane of a rank adds one thing at a time. A latency holds
 * nothing. Everything serves in the order of the plan: by round, then lane, then slab, then
 * transfer. Of the uplinks of a rack, which are alike, a transfer takes the one that is free first.
 *
 * <p>So every time is a sum or a maximum of earlier ones, or the least of those of uplinks, in an
 * order that does not depend on the numbers. Hence nothing that is made faster makes anything
 * later. And where each link carries one transfer of a lane in a round at most, and nothing is
 * shared, more slabs are never slower: by induction every slab of a transfer is through everywhere
 * no later than the whole would be. The price is that what several transfers share waits for the
 * next in the plan, though a later one may be ready; there slabs can even lose, because they take
 * turns.
 *
 * <p>A rank's own earlier sends need not be waited for before a chunk is written: in a plan that
 * {@link io.collectives.plan.PlanVerifier} accepts, what is written later holds what was sent.
 *
 * <p>Rounds are generated when needed. Memory is that of {@link Clocks}, 16 bytes for each transfer
 * of the largest round and 8 for each of its slabs, and 24 for each link, where pages of links that
 * are not used do not count.
 */
public final class Simulation {
  /** The index of the first of the numbers that are kept of a link, a NIC or an uplink. */
  private static final int FREE_AT = 0;

  private static final int HELD = 1;
  private static final int CARRIED = 2;
  private static final int KEPT = 3;

  /** Directions of what is shared. */
  private static final int OUT = 0;

  private static final int IN = 1;

  private final Plan plan;
  private final Network network;
  private final Costs costs;
  private final int slabs;

  /** The bytes of one slab of one chunk. */
  private final double pieceBytes;

  private final Clocks ready;
  private final double[] adderFree;

  /** By page, then by sender. */
  private final double[][] links;

  private final boolean sharing;
  private final Shared nics;
  private final Shared uplinks;
  private final int[] path;

  // The transfers of the round under way, of one lane.
  private int count;
  private int[] senders = new int[64];
  private int[] receivers = new int[64];
  private int[] firsts = new int[64];

  /** The number of chunks of each transfer; negative if they are replaced. */
  private int[] widths = new int[64];

  private double[] arrivals = new double[64];

  // Of the transfer under way: when its first byte, and when its last, is where it has come to.
  private double head;
  private double tail;

  private double end;
  private long transfers;

  private Simulation(Plan plan, Network network, Costs costs) {
    if (plan.ranks() != network.ranks()) {
      throw new IllegalArgumentException(
          "a plan of " + plan.ranks() + " ranks on a network of " + network.ranks());
    }
    this.plan = plan;
    this.network = network;
    this.costs = costs;
    this.slabs = costs.slabs();
    this.pieceBytes = costs.bytes() / plan.chunks() / slabs;
    this.ready = new Clocks(plan, slabs);
    this.adderFree = new double[Math.multiplyExact(plan.lanes(), plan.ranks())];
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

  /**
   * Simulates a plan, which should have been verified.
   *
   * @throws IllegalArgumentException if it is too large
   */
  public static Outcome run(Plan plan, Network network, Costs costs) {
    return new Simulation(plan, network, costs).run();
  }

  private Outcome run() {
    int rounds = 0;
    for (int lane = 0; lane < plan.lanes(); lane++) {
      rounds = Math.max(rounds, plan.rounds(lane));
    }
    for (int round = 0; round < rounds; round++) {
      for (int lane = 0; lane < plan.lanes(); lane++) {
        if (round < plan.rounds(lane)) {
          count = 0;
          plan.transfers(lane, round, this::note);
          transfers += count;
          if ((long) count * slabs > arrivals.length) {
            arrivals = new double[Math.multiplyExact(receivers.length, slabs)];
          }
          // All send what they held when the round began; so nothing is written before.
          for (int slab = 0; slab < slabs; slab++) {
            for (int transfer = 0; transfer < count; transfer++) {
              send(transfer, slab);
            }
          }
          write(lane * plan.ranks());
        }
      }
    }
    return outcome(rounds);
  }

  private void note(int from, int to, int firstChunk, int chunkCount, Effect effect) {
    if (count == receivers.length) {
      senders = Arrays.copyOf(senders, 2 * count);
      receivers = Arrays.copyOf(receivers, 2 * count);
      firsts = Arrays.copyOf(firsts, 2 * count);
      widths = Arrays.copyOf(widths, 2 * count);
    }
    senders[count] = from;
    receivers[count] = to;
    firsts[count] = firstChunk;
    widths[count] = effect == Effect.REDUCE ? chunkCount : -chunkCount;
    count++;
  }

  private void send(int transfer, int slab) {
    int from = senders[transfer];
    int to = receivers[transfer];
    int chunks = Math.abs(widths[transfer]);
    double bytes = pieceBytes * chunks;
    head = ready.latest(from, firsts[transfer], chunks, slab);
    tail = head;
    int fromHost = sharing ? network.host(from) : 0;
    int toHost = sharing ? network.host(to) : 0;
    int fromRack = network.rack(fromHost);
    int toRack = network.rack(toHost);
    if (fromHost != toHost) {
      pass(nics, fromHost, OUT, bytes);
      if (fromRack != toRack) {
        pass(uplinks, fromRack, OUT, bytes);
      }
    }
    int hops = network.path(from, to, path);
    for (int hop = 0; hop < hops; hop++) {
      pass(path[hop], bytes);
    }
    if (fromHost != toHost) {
      if (fromRack != toRack) {
        pass(uplinks, toRack, IN, bytes);
      }
      pass(nics, toHost, IN, bytes);
    }
    arrivals[transfer * slabs + slab] = tail;
  }

  /** Over a link, which is held until the last byte has set out. */
  private void pass(int number, double bytes) {
    Wire wire = network.wire(number);
    double[] link = link(number);
    int at = number % plan.ranks() * KEPT;
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

  private void write(int firstAdder) {
    for (int slab = 0; slab < slabs; slab++) {
      for (int transfer = 0; transfer < count; transfer++) {
        int to = receivers[transfer];
        int width = Math.abs(widths[transfer]);
        double done = arrivals[transfer * slabs + slab];
        if (widths[transfer] > 0) {
          done = Math.max(done, adderFree[firstAdder + to]);
          done = Math.max(done, ready.latest(to, firsts[transfer], width, slab));
          done += pieceBytes * width * costs.addNanosPerByte();
          adderFree[firstAdder + to] = done;
        }
        ready.set(to, firsts[transfer], width, slab, done);
        end = Math.max(end, done);
      }
    }
  }

  /** The page of a link. */
  private double[] link(int link) {
    int number = link / plan.ranks();
    double[] page = links[number];
    if (page == null) {
      page = new double[KEPT * plan.ranks()];
      links[number] = page;
    }
    return page;
  }

  private Outcome outcome(int rounds) {
    Tally tally = new Tally();
    for (int number = 0; number < links.length; number++) {
      for (int at = 0; links[number] != null && at < plan.ranks(); at++) {
        int link = number * plan.ranks() + at;
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
    return tally.outcome(end, rounds, transfers);
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
