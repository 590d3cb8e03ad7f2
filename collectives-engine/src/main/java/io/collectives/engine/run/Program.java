package io.collectives.engine.run;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One rank's part of a plan, in the form in which the engine runs it.
 *
 * <p>The rounds of a plan are an order on each chunk, not a barrier between ranks: a step may run
 * as soon as the earlier steps of this rank on the same chunks have. So each step only knows how
 * often its chunks must have been written and read before. A send waits for the earlier writes; a
 * write waits for the earlier writes and reads. Within a round sends come first, and writes follow
 * in the order in which the plan names them, so that sums do not depend on timing.
 *
 * <p>Why nothing waits for ever: order the steps of all ranks by round, sends first. A send waits
 * for writes of earlier rounds only. A write waits for its frame, whose send stands before it, for
 * writes before it, and for this rank's reads before it to be over, which is when the receivers
 * have written them. A read in the same round as a write of the same chunk would be a circle (two
 * ranks that swap sums), so it is marked as a {@linkplain Step#snapshot snapshot} and is over at
 * once.
 */
public final class Program {
  final Algorithm algorithm;
  final Collective collective;
  final int chunks;

  /** The ranks of the group that this rank exchanges frames with, ascending. */
  final int[] peers;

  final Lane[] lanes;

  /**
   * The most chunks that any transfer of the plan, of any rank, carries; frames are sized by it.
   */
  final int widestTransfer;

  /** How many sends and receives there are in all. */
  final int steps;

  /** Calls of this program that have ended and may be used again. */
  final ArrayDeque<Call> freeCalls = new ArrayDeque<>();

  private Program(Algorithm algorithm, Plan plan, int[] peers, Lane[] lanes, int widestTransfer) {
    this.algorithm = algorithm;
    this.collective = plan.collective();
    this.chunks = plan.chunks();
    this.peers = peers;
    this.lanes = lanes;
    this.widestTransfer = widestTransfer;
    int sum = 0;
    for (Lane lane : lanes) {
      sum += lane.sends.length;
      for (Step[] receives : lane.receives) {
        sum += receives.length;
      }
    }
    this.steps = sum;
  }

  /** Compiles the part of {@code rank}. Takes as long as the whole plan has transfers. */
  public static Program compile(Algorithm algorithm, Plan plan, int rank) {
    return new Compiler(plan, rank).compile(algorithm);
  }

  /** The most chunks that any transfer of the plan carries. */
  public int widestTransfer() {
    return widestTransfer;
  }

  /** The index of a rank in {@link #peers}, negative if it is none. */
  int peerIndex(int rank) {
    return Arrays.binarySearch(peers, rank);
  }

  /** One lane's steps. */
  static final class Lane {
    /** In the order in which they go out. */
    final Step[] sends;

    /** By index of the peer, in the order in which they come in. */
    final Step[][] receives;

    Lane(Step[] sends, Step[][] receives) {
      this.sends = sends;
      this.receives = receives;
    }
  }

  /** A transfer as one of its two ranks sees it. Arrays have an entry for each chunk. */
  static final class Step {
    final int round;
    final int peer;
    final int firstChunk;
    final int chunkCount;
    final Effect effect;

    /** How often the chunk must have been written before. */
    final int[] writesBefore;

    /** For a receive: how many reads of the chunk must be over before. */
    final int[] readsBefore;

    /**
     * Whether the chunk has not been written before, so that this rank's contribution is still in
     * the input only.
     */
    final boolean[] untouched;

    /** For a receive: whether it completes the chunk, so that an average is to be divided here. */
    final boolean[] completes;

    /**
     * For a send: whether a write of the same round follows, so that what is sent must be copied.
     */
    boolean snapshot;

    Step(int round, int peer, int firstChunk, int chunkCount, Effect effect) {
      this.round = round;
      this.peer = peer;
      this.firstChunk = firstChunk;
      this.chunkCount = chunkCount;
      this.effect = effect;
      this.writesBefore = new int[chunkCount];
      this.readsBefore = new int[chunkCount];
      this.untouched = new boolean[chunkCount];
      this.completes = new boolean[chunkCount];
    }
  }

  private static final class Compiler {
    private final Plan plan;
    private final int rank;
    private final int[] writes;
    private final int[] reads;
    private final Step[] lastReduce;
    private int widest = 1;

    Compiler(Plan plan, int rank) {
      this.plan = plan;
      this.rank = rank;
      this.writes = new int[plan.chunks()];
      this.reads = new int[plan.chunks()];
      this.lastReduce = new Step[plan.chunks()];
    }

    Program compile(Algorithm algorithm) {
      List<List<Step>> sends = new ArrayList<>();
      List<List<Step>> receives = new ArrayList<>();
      List<Step> roundSends = new ArrayList<>();
      List<Step> roundReceives = new ArrayList<>();
      for (int lane = 0; lane < plan.lanes(); lane++) {
        List<Step> laneSends = new ArrayList<>();
        List<Step> laneReceives = new ArrayList<>();
        for (int r = 0; r < plan.rounds(lane); r++) {
          int round = r;
          plan.transfers(
              lane,
              round,
              (from, to, first, count, effect) -> {
                widest = Math.max(widest, count);
                if (from == rank) {
                  roundSends.add(new Step(round, to, first, count, effect));
                } else if (to == rank) {
                  roundReceives.add(new Step(round, from, first, count, effect));
                }
              });
          order(roundSends, roundReceives);
          laneSends.addAll(roundSends);
          laneReceives.addAll(roundReceives);
          roundSends.clear();
          roundReceives.clear();
        }
        sends.add(laneSends);
        receives.add(laneReceives);
      }
      for (int chunk = 0; chunk < plan.chunks(); chunk++) {
        Step last = lastReduce[chunk];
        if (last != null) {
          last.completes[chunk - last.firstChunk] = true;
        }
      }
      int[] peers =
          java.util.stream.Stream.of(sends, receives)
              .flatMap(List::stream)
              .flatMap(List::stream)
              .mapToInt(step -> step.peer)
              .distinct()
              .sorted()
              .toArray();
      Lane[] lanes = new Lane[plan.lanes()];
      for (int lane = 0; lane < lanes.length; lane++) {
        List<Step> all = receives.get(lane);
        Step[][] byPeer = new Step[peers.length][];
        for (int p = 0; p < peers.length; p++) {
          int peer = peers[p];
          byPeer[p] = all.stream().filter(step -> step.peer == peer).toArray(Step[]::new);
        }
        lanes[lane] = new Lane(sends.get(lane).toArray(Step[]::new), byPeer);
      }
      return new Program(algorithm, plan, peers, lanes, widest);
    }

    private void order(List<Step> roundSends, List<Step> roundReceives) {
      for (Step send : roundSends) {
        for (int i = 0; i < send.chunkCount; i++) {
          int chunk = send.firstChunk + i;
          send.writesBefore[i] = writes[chunk];
          send.untouched[i] = writes[chunk] == 0;
          reads[chunk]++;
          for (Step receive : roundReceives) {
            send.snapshot |=
                receive.firstChunk <= chunk && chunk < receive.firstChunk + receive.chunkCount;
          }
        }
      }
      for (Step receive : roundReceives) {
        for (int i = 0; i < receive.chunkCount; i++) {
          int chunk = receive.firstChunk + i;
          receive.writesBefore[i] = writes[chunk];
          receive.readsBefore[i] = reads[chunk];
          receive.untouched[i] = writes[chunk] == 0;
          writes[chunk]++;
          lastReduce[chunk] = receive.effect == Effect.REDUCE ? receive : null;
        }
      }
    }
  }
}
