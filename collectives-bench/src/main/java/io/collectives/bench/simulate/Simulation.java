package io.collectives.bench.simulate;

import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;

/**
 * Moves clocks through a plan. One number for each part (slab) of each chunk of each rank says when
 * it is ready; nothing waits for a round to end.
 *
 * <p><b>The model.</b> A transfer sets out when its chunks are ready at the sender and every link
 * of its way is free when its head comes by; it holds a link for its bytes at the pace of the
 * slowest link of the way, and is there one latency of each link later (cut-through). What is to be
 * added is then added, at so much a byte; each lane of a rank adds one thing at a time, in the
 * order of the plan. A latency holds nothing. Each link, and each rank's way out and in if these
 * are limited, serves in the order of the plan: by round, then lane, then transfer, then slab.
 *
 * <p>So every time is a sum or a maximum of earlier ones, in an order that does not depend on the
 * numbers. Hence nothing that is made faster makes anything later. And while hosts have no limit,
 * more slabs are never slower: by induction every slab of a transfer is through no later than the
 * whole would be. The price is that a link which two lanes share waits for the next in the plan,
 * though a later one may be ready; with a limit of hosts, which a transfer on a slow link holds for
 * a part of its time only, slabs can even lose by that.
 *
 * <p>A rank's own earlier sends need not be waited for before a chunk is written: in a plan that
 * {@link io.collectives.plan.PlanVerifier} accepts, what is written later holds what was sent.
 *
 * <p>Rounds are generated when needed. Memory is 8 bytes for each slab of each chunk of each rank,
 * 8 for each transfer of the largest round and 8 for each of its slabs, and 24 for each link, where
 * pages of links that are not used do not count.
 */
public final class Simulation {
  private static final long MOST_CLOCKS = 1L << 30;

  private final Plan plan;
  private final Network network;
  private final Costs costs;
  private final int slabs;

  /** The bytes of one slab of one chunk. */
  private final double pieceBytes;

  private final double[] ready;
  private final double[] adderFree;
  private final double[][] freeAt;
  private final double[][] held;
  private final double[][] carried;
  private final double[] outFree;
  private final double[] inFree;
  private final int[] path;
  private final double[] offset;

  // The transfers of the round under way, of one lane.
  private int count;
  private int[] targets = new int[64];
  private int[] widths = new int[64];
  private double[] arrivals = new double[64];

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
    long clocks = (long) plan.ranks() * plan.chunks();
    if (clocks > MOST_CLOCKS / slabs) {
      throw new IllegalArgumentException(
          plan.ranks()
              + " ranks with "
              + plan.chunks()
              + " chunks and "
              + slabs
              + " slabs are too many to simulate: their product must be at most 2^30");
    }
    this.pieceBytes = costs.bytes() / plan.chunks() / slabs;
    this.ready = new double[(int) clocks * slabs];
    this.adderFree = new double[Math.multiplyExact(plan.lanes(), plan.ranks())];
    this.freeAt = new double[network.pages()][];
    this.held = new double[network.pages()][];
    this.carried = new double[network.pages()][];
    boolean hosts = costs.hostNanosPerByte() > 0;
    this.outFree = new double[hosts ? plan.ranks() : 0];
    this.inFree = new double[hosts ? plan.ranks() : 0];
    this.path = new int[network.longestPath()];
    this.offset = new double[network.longestPath()];
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
          // All send what they held when the round began; so nothing is written before.
          count = 0;
          plan.transfers(lane, round, this::send);
          transfers += count;
          write(lane * plan.ranks());
        }
      }
    }
    return outcome(rounds);
  }

  private void send(int from, int to, int firstChunk, int chunkCount, Effect effect) {
    if (count == targets.length) {
      int pairs = plan.ranks() * (plan.ranks() - 1);
      int length = count < pairs ? Math.min(count * 2, Math.max(count + 1, pairs)) : count * 2;
      targets = Arrays.copyOf(targets, length);
      widths = Arrays.copyOf(widths, length);
    }
    if ((long) (count + 1) * slabs > arrivals.length) {
      arrivals = Arrays.copyOf(arrivals, Math.multiplyExact(targets.length, slabs));
    }
    int hops = network.path(from, to, path);
    double pace = costs.hostNanosPerByte();
    double latency = 0;
    for (int hop = 0; hop < hops; hop++) {
      Wire wire = network.wire(path[hop]);
      offset[hop] = latency;
      latency += wire.alphaNanos();
      pace = Math.max(pace, wire.nanosPerByte());
    }
    double bytes = pieceBytes * chunkCount;
    double hostNanos = bytes * costs.hostNanosPerByte();
    int source = (from * plan.chunks() + firstChunk) * slabs;
    for (int slab = 0; slab < slabs; slab++) {
      double start = 0;
      for (int i = 0; i < chunkCount; i++) {
        start = Math.max(start, ready[source + i * slabs + slab]);
      }
      for (int hop = 0; hop < hops; hop++) {
        start = Math.max(start, page(freeAt, path[hop])[path[hop] % plan.ranks()] - offset[hop]);
      }
      if (outFree.length > 0) {
        start = Math.max(start, Math.max(outFree[from], inFree[to] - latency));
        outFree[from] = start + hostNanos;
        inFree[to] = start + latency + hostNanos;
      }
      double nanos = bytes * pace;
      for (int hop = 0; hop < hops; hop++) {
        int link = path[hop];
        int at = link % plan.ranks();
        page(freeAt, link)[at] = start + offset[hop] + nanos;
        page(held, link)[at] += nanos;
        page(carried, link)[at] += bytes;
      }
      arrivals[count * slabs + slab] = start + latency + nanos;
    }
    targets[count] = to * plan.chunks() + firstChunk;
    widths[count] = effect == Effect.REDUCE ? chunkCount : -chunkCount;
    count++;
  }

  private void write(int firstAdder) {
    for (int transfer = 0; transfer < count; transfer++) {
      int width = Math.abs(widths[transfer]);
      double added = widths[transfer] > 0 ? pieceBytes * width * costs.addNanosPerByte() : 0;
      int target = targets[transfer] * slabs;
      for (int slab = 0; slab < slabs; slab++) {
        double begin = arrivals[transfer * slabs + slab];
        int adder = firstAdder + targets[transfer] / plan.chunks();
        if (widths[transfer] > 0) {
          begin = Math.max(begin, adderFree[adder]);
          for (int i = 0; i < width; i++) {
            begin = Math.max(begin, ready[target + i * slabs + slab]);
          }
        }
        double done = begin + added;
        if (widths[transfer] > 0) {
          adderFree[adder] = done;
        }
        for (int i = 0; i < width; i++) {
          ready[target + i * slabs + slab] = done;
        }
        end = Math.max(end, done);
      }
    }
  }

  private double[] page(double[][] of, int link) {
    int number = link / plan.ranks();
    double[] page = of[number];
    if (page == null) {
      page = new double[plan.ranks()];
      of[number] = page;
    }
    return page;
  }

  private Outcome outcome(int rounds) {
    Map<LinkClass, Outcome.Traffic> traffic = new EnumMap<>(LinkClass.class);
    int busiest = -1;
    double busiestNanos = -1;
    for (int number = 0; number < carried.length; number++) {
      for (int at = 0; carried[number] != null && at < plan.ranks(); at++) {
        double bytes = carried[number][at];
        if (bytes > 0) {
          int link = number * plan.ranks() + at;
          double nanos = held[number][at];
          traffic.merge(
              network.linkClass(link),
              new Outcome.Traffic(1, bytes, bytes, nanos),
              (a, b) ->
                  new Outcome.Traffic(
                      a.links() + b.links(),
                      a.bytes() + b.bytes(),
                      Math.max(a.mostBytes(), b.mostBytes()),
                      a.busyNanos() + b.busyNanos()));
          if (nanos > busiestNanos) {
            busiestNanos = nanos;
            busiest = link;
          }
        }
      }
    }
    return new Outcome(
        end,
        rounds,
        transfers,
        traffic,
        busiest < 0 ? "" : network.name(busiest),
        busiest < 0 ? LinkClass.OTHER : network.linkClass(busiest),
        Math.max(0, busiestNanos));
  }
}
