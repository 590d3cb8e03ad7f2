package io.collectives.bench.simulate;

import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Transfer;
import java.util.Arrays;

/**
 * Moves clocks through a plan as {@link Simulation} does, but everything that is shared serves what
 * comes first, as links, NICs and adders do; of what comes at the same time, the first in the plan.
 * So nothing waits for what is not there yet, and an idle round of a plan means nothing.
 *
 * <p>Here making a link faster may make a result later, because it changes who comes first. And all
 * transfers are held at once, so plans are limited to {@value #MOST_PIECES} transfers of a slab.
 *
 * <p>A piece is a slab of a transfer. It sets out when the last pieces of earlier rounds that wrote
 * its chunks at its sender are written. What it brings is added when it is there, when the pieces
 * that come before it in the plan are written to the same chunks, and when the adder of the lane is
 * free. So sums are those of the plan, whatever comes first.
 */
final class ServedByArrival {
  static final int MOST_PIECES = 1 << 22;
  private static final int MOST_CELLS = 1 << 27;

  private final Plan plan;
  private final Costs costs;
  private final Route route;
  private final double pieceBytes;
  private final double[] adderFree;
  private final Transfers transfers;

  // Of each piece.
  private final int[] stages;
  private final double[] tails;
  private final int[] untilSent;
  private final int[] untilWritten;

  private final Agenda agenda;
  private double end;

  private ServedByArrival(Plan plan, Network network, Costs costs) {
    if (plan.ranks() != network.ranks()) {
      throw new IllegalArgumentException(
          "a plan of " + plan.ranks() + " ranks on a network of " + network.ranks());
    }
    if ((long) plan.ranks() * plan.chunks() > MOST_CELLS) {
      throw tooMany(plan.ranks() + " ranks with " + plan.chunks() + " chunks");
    }
    this.plan = plan;
    this.costs = costs;
    this.route = new Route(network);
    this.pieceBytes = costs.bytes() / plan.chunks() / costs.slabs();
    this.adderFree = new double[Math.multiplyExact(plan.lanes(), plan.ranks())];
    this.transfers = new Transfers(plan, costs.slabs());
    int pieces = transfers.count * costs.slabs();
    this.stages = new int[pieces];
    this.tails = new double[pieces];
    this.untilSent = new int[pieces];
    this.untilWritten = new int[pieces];
    this.agenda = new Agenda(pieces);
  }

  private static IllegalArgumentException tooMany(String what) {
    return new IllegalArgumentException(
        what + " are too many for links that serve by arrival; write --serve plan");
  }

  /**
   * Simulates a plan, which should have been verified.
   *
   * @throws IllegalArgumentException if it is too large
   */
  static Outcome run(Plan plan, Network network, Costs costs) {
    return new ServedByArrival(plan, network, costs).run();
  }

  private Outcome run() {
    int slabs = costs.slabs();
    for (int piece = 0; piece < stages.length; piece++) {
      int transfer = transfers.ofPiece[piece];
      untilSent[piece] = transfers.sendsAfter[transfer];
      untilWritten[piece] = transfers.writesAfter[transfer] + 1;
      if (untilSent[piece] == 0) {
        agenda.add(0, piece);
      }
    }
    while (!agenda.isEmpty()) {
      double now = agenda.firstTime();
      int piece = agenda.removeFirst();
      int transfer = transfers.ofPiece[piece];
      int from = transfers.from[transfer];
      int by = transfers.by[transfer];
      int stage = stages[piece]++;
      int start = 0;
      int ways = by < 0 ? 0 : route.lead(from, by);
      if (stage >= ways) {
        // All of what is relayed lands before it goes on.
        start = ways;
        ways += route.lead(by < 0 ? from : by, transfers.to[transfer]);
      }
      if (stage < ways) {
        route.head = now;
        route.tail = stage == start ? now : tails[piece];
        route.pass(stage - start, pieceBytes * transfers.chunks(transfer));
        tails[piece] = route.tail;
        agenda.add(stage + 1 < ways ? route.head : route.tail, piece);
      } else if (stage == ways) {
        mayWrite(piece, now);
      } else {
        end = Math.max(end, now);
        written(piece, transfer, slabs, now);
      }
    }
    return route.outcome(end, transfers.rounds, transfers.count);
  }

  private void mayWrite(int piece, double now) {
    if (--untilWritten[piece] > 0) {
      return;
    }
    int transfer = transfers.ofPiece[piece];
    double done = now;
    if (transfers.adds(transfer)) {
      int adder = transfers.lane[transfer] * plan.ranks() + transfers.to[transfer];
      done = Math.max(done, adderFree[adder]);
      done += pieceBytes * transfers.chunks(transfer) * costs.addNanosPerByte();
      adderFree[adder] = done;
    }
    agenda.add(done, piece);
  }

  private void written(int piece, int transfer, int slabs, double now) {
    int slab = transfers.slab(piece, slabs);
    for (int i = transfers.firstEdge[transfer]; i < transfers.firstEdge[transfer + 1]; i++) {
      int next = transfers.pieceOf(transfers.edges[i] >> 1, slab, slabs);
      if ((transfers.edges[i] & 1) == 0) {
        if (--untilSent[next] == 0) {
          agenda.add(now, next);
        }
      } else {
        mayWrite(next, now);
      }
    }
  }

  /** The transfers of a plan in its order, and which of them wait for which. */
  private static final class Transfers {
    private int[] from = new int[1024];
    private int[] to = new int[1024];

    /** The rank that each transfer goes by; -1 if it goes straight. */
    private int[] by = new int[1024];

    private int[] firsts = new int[1024];
    private int[] widths = new int[1024];
    private int[] lane = new int[1024];

    /** The first transfer of the same round and lane, and how many there are. */
    private int[] groupStart = new int[1024];

    private int[] groupSize = new int[1024];
    private int count;
    private int rounds;

    private int[] sendsAfter = new int[0];
    private int[] writesAfter = new int[0];
    private int[] ofPiece = new int[0];

    /** Of each transfer those that wait for it: twice their number, and 1 more to be written. */
    private int[] firstEdge = new int[0];

    private int[] edges = new int[0];

    private int edgeCount;
    private int[] edgeFrom = new int[1024];
    private int[] edgeTo = new int[1024];

    /** By rank and chunk, of the last transfer that wrote it; -1 for none. */
    private final int[] lastWriter;

    private final int chunks;

    Transfers(Plan plan, int slabs) {
      chunks = plan.chunks();
      lastWriter = new int[plan.ranks() * chunks];
      Arrays.fill(lastWriter, -1);
      for (int of = 0; of < plan.lanes(); of++) {
        rounds = Math.max(rounds, plan.rounds(of));
      }
      for (int round = 0; round < rounds; round++) {
        for (int of = 0; of < plan.lanes(); of++) {
          if (round < plan.rounds(of)) {
            int start = count;
            int inLane = of;
            plan.transfers(
                of,
                round,
                new Transfer.Sink() {
                  @Override
                  public void transfer(int f, int t, int first, int width, Effect effect) {
                    note(inLane, f, t, first, width, effect);
                  }

                  @Override
                  public void relayed(int f, int b, int t, int first, int width, Effect effect) {
                    note(inLane, f, t, first, width, effect);
                    by[count - 1] = b;
                  }
                });
            if ((long) count * slabs > MOST_PIECES) {
              throw tooMany("more than " + MOST_PIECES + " transfers of a slab");
            }
            link(start);
          }
        }
      }
      sortEdges();
      cut(slabs);
    }

    private void note(int inLane, int f, int t, int first, int width, Effect effect) {
      if (count == from.length) {
        from = Arrays.copyOf(from, 2 * count);
        to = Arrays.copyOf(to, 2 * count);
        by = Arrays.copyOf(by, 2 * count);
        firsts = Arrays.copyOf(firsts, 2 * count);
        widths = Arrays.copyOf(widths, 2 * count);
        lane = Arrays.copyOf(lane, 2 * count);
        groupStart = Arrays.copyOf(groupStart, 2 * count);
        groupSize = Arrays.copyOf(groupSize, 2 * count);
      }
      from[count] = f;
      to[count] = t;
      by[count] = -1;
      firsts[count] = first;
      widths[count] = effect == Effect.REDUCE ? width : -width;
      lane[count++] = inLane;
    }

    /** Notes what the transfers of a round wait for, and what they write. */
    private void link(int start) {
      for (int transfer = start; transfer < count; transfer++) {
        groupStart[transfer] = start;
        groupSize[transfer] = count - start;
        waitForWriters(transfer, from[transfer], 2 * transfer);
      }
      for (int transfer = start; transfer < count; transfer++) {
        if (adds(transfer)) {
          waitForWriters(transfer, to[transfer], 2 * transfer + 1);
        }
        int at = to[transfer] * chunks + firsts[transfer];
        Arrays.fill(lastWriter, at, at + chunks(transfer), transfer);
      }
    }

    private void waitForWriters(int transfer, int rank, int code) {
      int last = -1;
      for (int chunk = 0; chunk < chunks(transfer); chunk++) {
        int writer = lastWriter[rank * chunks + firsts[transfer] + chunk];
        if (writer >= 0 && writer != last) {
          if (edgeCount == edgeFrom.length) {
            edgeFrom = Arrays.copyOf(edgeFrom, 2 * edgeCount);
            edgeTo = Arrays.copyOf(edgeTo, 2 * edgeCount);
          }
          edgeFrom[edgeCount] = writer;
          edgeTo[edgeCount++] = code;
        }
        last = writer;
      }
    }

    private void sortEdges() {
      sendsAfter = new int[count];
      writesAfter = new int[count];
      firstEdge = new int[count + 1];
      edges = new int[edgeCount];
      for (int i = 0; i < edgeCount; i++) {
        firstEdge[edgeFrom[i] + 1]++;
        ((edgeTo[i] & 1) == 0 ? sendsAfter : writesAfter)[edgeTo[i] >> 1]++;
      }
      for (int transfer = 0; transfer < count; transfer++) {
        firstEdge[transfer + 1] += firstEdge[transfer];
      }
      int[] next = firstEdge.clone();
      for (int i = 0; i < edgeCount; i++) {
        edges[next[edgeFrom[i]]++] = edgeTo[i];
      }
    }

    /** Pieces are in the order of the plan: by round, lane, slab and transfer. */
    private void cut(int slabs) {
      ofPiece = new int[count * slabs];
      for (int transfer = 0; transfer < count; transfer++) {
        for (int slab = 0; slab < slabs; slab++) {
          ofPiece[pieceOf(transfer, slab, slabs)] = transfer;
        }
      }
    }

    int pieceOf(int transfer, int slab, int slabs) {
      int start = groupStart[transfer];
      return start * slabs + slab * groupSize[transfer] + transfer - start;
    }

    int slab(int piece, int slabs) {
      int transfer = ofPiece[piece];
      return (piece - groupStart[transfer] * slabs) / groupSize[transfer];
    }

    int chunks(int transfer) {
      return Math.abs(widths[transfer]);
    }

    boolean adds(int transfer) {
      return widths[transfer] > 0;
    }
  }

  /** Pieces by the time at which something happens to them; at the same time in their order. */
  private static final class Agenda {
    private final double[] times;
    private final int[] pieces;
    private int size;

    /** A piece is in it once at most. */
    Agenda(int most) {
      times = new double[most + 1];
      pieces = new int[most + 1];
    }

    boolean isEmpty() {
      return size == 0;
    }

    double firstTime() {
      return times[1];
    }

    void add(double time, int piece) {
      int at = ++size;
      while (at > 1 && isBefore(time, piece, at / 2)) {
        move(at / 2, at);
        at /= 2;
      }
      times[at] = time;
      pieces[at] = piece;
    }

    int removeFirst() {
      int first = pieces[1];
      double time = times[size];
      int piece = pieces[size--];
      int at = 1;
      while (2 * at <= size) {
        int child = 2 * at;
        if (child < size && isBefore(times[child + 1], pieces[child + 1], child)) {
          child++;
        }
        if (isBefore(time, piece, child)) {
          break;
        }
        move(child, at);
        at = child;
      }
      times[at] = time;
      pieces[at] = piece;
      return first;
    }

    private boolean isBefore(double time, int piece, int other) {
      return time < times[other] || time == times[other] && piece < pieces[other];
    }

    private void move(int from, int to) {
      times[to] = times[from];
      pieces[to] = pieces[from];
    }
  }
}
