package io.collectives.bench.simulate;

import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Transfer;
import java.util.Arrays;

/**
 * Moves clocks through a plan. One number for each part (slab) of each chunk of each rank says when
 * it is ready; nothing waits for a round to end.
 *
 * <p><b>The model.</b> A transfer sets out when its chunks are ready at the sender. It passes what
 * is on its {@linkplain Route way} one after the other, and is let in when that is free; it waits
 * in a buffer, which is never full, when that is taken. What is to be added is then added, at so
 * much a byte; each lane of a rank adds one thing at a time. A latency holds nothing. Everything
 * serves in the order of the plan: by round, then lane, then slab, then transfer. ({@link
 * ServedByArrival} has the other order.)
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
  private final Plan plan;
  private final Route route;
  private final Costs costs;
  private final int slabs;

  /** The bytes of one slab of one chunk. */
  private final double pieceBytes;

  private final Clocks ready;
  private final double[] adderFree;

  // The transfers of the round under way, of one lane.
  private int count;
  private int[] senders = new int[64];
  private int[] receivers = new int[64];

  /** The rank that each transfer goes by; -1 if it goes straight. */
  private int[] relays = new int[64];

  private int[] firsts = new int[64];

  /** The number of chunks of each transfer; negative if they are replaced. */
  private int[] widths = new int[64];

  private double[] arrivals = new double[64];

  private final Notes notes = new Notes();
  private double end;
  private long transfers;

  private Simulation(Plan plan, Network network, Costs costs) {
    if (plan.ranks() != network.ranks()) {
      throw new IllegalArgumentException(
          "a plan of " + plan.ranks() + " ranks on a network of " + network.ranks());
    }
    this.plan = plan;
    this.route = new Route(network);
    this.costs = costs;
    this.slabs = costs.slabs();
    this.pieceBytes = costs.bytes() / plan.chunks() / slabs;
    this.ready = new Clocks(plan, slabs);
    this.adderFree = new double[Math.multiplyExact(plan.lanes(), plan.ranks())];
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
          plan.transfers(lane, round, notes);
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
    return route.outcome(end, rounds, transfers);
  }

  private final class Notes implements Transfer.Sink {
    @Override
    public void transfer(int from, int to, int firstChunk, int chunkCount, Effect effect) {
      note(from, -1, to, firstChunk, effect == Effect.REDUCE ? chunkCount : -chunkCount);
    }

    @Override
    public void relayed(int from, int by, int to, int firstChunk, int chunkCount, Effect effect) {
      note(from, by, to, firstChunk, effect == Effect.REDUCE ? chunkCount : -chunkCount);
    }
  }

  private void note(int from, int by, int to, int firstChunk, int width) {
    if (count == receivers.length) {
      relays = Arrays.copyOf(relays, 2 * count);
      senders = Arrays.copyOf(senders, 2 * count);
      receivers = Arrays.copyOf(receivers, 2 * count);
      firsts = Arrays.copyOf(firsts, 2 * count);
      widths = Arrays.copyOf(widths, 2 * count);
    }
    senders[count] = from;
    receivers[count] = to;
    firsts[count] = firstChunk;
    relays[count] = by;
    widths[count] = width;
    count++;
  }

  private void send(int transfer, int slab) {
    int from = senders[transfer];
    int to = receivers[transfer];
    int chunks = Math.abs(widths[transfer]);
    double bytes = pieceBytes * chunks;
    route.head = ready.latest(from, firsts[transfer], chunks, slab);
    route.tail = route.head;
    int by = relays[transfer];
    if (by >= 0) {
      go(from, by, bytes);
      route.head = route.tail; // All of it lands before it goes on.
      go(by, to, bytes);
    } else {
      go(from, to, bytes);
    }
    arrivals[transfer * slabs + slab] = route.tail;
  }

  private void go(int from, int to, double bytes) {
    int passed = route.lead(from, to);
    for (int number = 0; number < passed; number++) {
      route.pass(number, bytes);
    }
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
}
