package io.collectives.engine.run;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Transfer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Compiles one rank's part of a plan into a {@link Program}: gives each step the numbers of writes
 * and reads that it waits for, finds the fused reductions, and puts reductions in the order that is
 * asked for. It goes through the transfers of all ranks, once.
 */
public final class ProgramCompiler {
  private final Plan plan;
  private final int rank;
  private final AddOrder order;
  private final int[] writes;
  private final int[] reads;
  private final @Nullable Contributions contributions;
  private final @Nullable FusedOwners owners;
  private final List<Program.FusedReduction> fusedReductions = new ArrayList<>();

  /** By rank that serves: the contributors that it exchanges frames with. */
  private final Map<Integer, BitSet> contributorsOf = new HashMap<>();

  /** The chunks that this rank relays, each in a place of its own. */
  private final List<Integer> landed = new ArrayList<>();

  private int widest = 1;

  private ProgramCompiler(Plan plan, int rank, AddOrder order) {
    this.plan = plan;
    this.rank = rank;
    this.order = order;
    this.writes = new int[plan.chunks()];
    this.reads = new int[plan.chunks()];
    this.contributions = plan.collective().reduces() ? new Contributions(plan) : null;
    this.owners =
        plan.collective() == Collective.ALL_REDUCE && plan.ranks() > 1
            ? new FusedOwners(plan)
            : null;
  }

  /** Compiles the part of {@code rank}. Takes as long as the whole plan has transfers. */
  public static Program compile(Algorithm algorithm, Plan plan, int rank) {
    return compile(algorithm, plan, rank, AddOrder.OF_PLAN);
  }

  /**
   * Compiles a plan with reductions in some order.
   *
   * @throws IllegalArgumentException if the plan cannot do that; the same on all ranks
   */
  public static Program compile(Algorithm algorithm, Plan plan, int rank, AddOrder order) {
    // One contribution is in order, and is met by no other.
    boolean isAlone = plan.contributors() == 1;
    return new ProgramCompiler(plan, rank, isAlone ? AddOrder.OF_PLAN : order)
        .compile(algorithm, false);
  }

  /**
   * Compiles an all-to-all in which each pair of ranks has counts of its own; every rank sends
   * straight to the one that it is for, whatever the algorithm.
   */
  public static Program pairwise(Algorithm algorithm, int ranks, int rank) {
    Plan plan = DirectPlans.of(PlanRequest.of(Collective.ALL_TO_ALL, ranks));
    return new ProgramCompiler(plan, rank, AddOrder.OF_PLAN).compile(algorithm, true);
  }

  private Program compile(Algorithm algorithm, boolean pairwise) {
    List<List<Program.Step>> sends = new ArrayList<>();
    List<List<Program.Step>> receives = new ArrayList<>();
    List<Program.Step> roundSends = new ArrayList<>();
    List<Program.Step> roundReceives = new ArrayList<>();
    List<Program.Step> relays = new ArrayList<>();
    for (int lane = 0; lane < plan.lanes(); lane++) {
      List<Program.Step> laneSends = new ArrayList<>();
      List<Program.Step> laneReceives = new ArrayList<>();
      for (int r = 0; r < plan.rounds(lane); r++) {
        int round = r;
        plan.transfers(
            lane,
            round,
            new Transfer.Sink() {
              @Override
              public void transfer(int from, int to, int first, int count, Effect effect) {
                ends(round, from, to, first, count, effect);
                if (from == rank) {
                  roundSends.add(new Program.Step(round, to, first, count, effect));
                } else if (to == rank) {
                  roundReceives.add(new Program.Step(round, from, first, count, effect));
                }
              }

              @Override
              public void relayed(int from, int by, int to, int first, int count, Effect effect) {
                ends(round, from, to, first, count, effect);
                serves(by, from);
                if (from == rank) {
                  roundSends.add(new Program.Step(round, by, first, count, effect));
                } else if (to == rank) {
                  roundReceives.add(Program.Step.relayed(round, by, from, first, count, effect));
                } else if (by == rank) {
                  int at = plan.chunks() + landed.size();
                  IntStream.range(first, first + count).forEach(landed::add);
                  roundReceives.add(Program.Step.landing(round, from, at, first, count));
                  relays.add(roundReceives.get(roundReceives.size() - 1).onwards(to));
                }
              }
            });
        List<Program.Step> ended = roundReceives.stream().filter(this::endsHere).toList();
        order(roundSends, ended);
        if (contributions != null) {
          contributions.endRound(rank, ended);
        }
        laneSends.addAll(roundSends);
        laneSends.addAll(relays);
        laneReceives.addAll(roundReceives);
        roundSends.clear();
        relays.clear();
        roundReceives.clear();
      }
      sends.add(laneSends);
      receives.add(laneReceives);
    }
    int[] peers =
        Stream.of(sends, receives)
            .flatMap(List::stream)
            .flatMap(List::stream)
            .mapToInt(step -> step.peer)
            .distinct()
            .sorted()
            .toArray();
    Program.Lane[] lanes = new Program.Lane[plan.lanes()];
    for (int lane = 0; lane < lanes.length; lane++) {
      List<Program.Step> all = receives.get(lane);
      Program.Step[][] byPeer = new Program.Step[peers.length][];
      for (int p = 0; p < peers.length; p++) {
        int peer = peers[p];
        byPeer[p] = all.stream().filter(step -> step.peer == peer).toArray(Program.Step[]::new);
      }
      lanes[lane] = new Program.Lane(sends.get(lane).toArray(Program.Step[]::new), byPeer);
    }
    boolean inRankOrder = order == AddOrder.OF_RANKS;
    if (contributions != null && (owners != null || inRankOrder)) {
      for (int lane = 0; lane < lanes.length; lane++) {
        findFusedReductions(contributions, sends.get(lane), receives.get(lane));
      }
      if (inRankOrder
          && !(contributions.meet() && all(receives, ProgramCompiler::meetsIfReduced))) {
        throw inNoOrder(algorithm);
      }
    }
    if (owners != null && order != AddOrder.OF_ARRIVAL && rank < plan.contributors()) {
      for (int lane = 0; lane < lanes.length; lane++) {
        findReturns(owners, sends.get(lane), receives.get(lane));
      }
    }
    if (contributions != null && order == AddOrder.OF_ARRIVAL) {
      receives.forEach(lane -> letPass(contributions, lane));
    }
    return new Program(
        algorithm,
        plan,
        rank,
        inRankOrder,
        contributions != null && contributions.hasSeveralOwners(),
        pairwise,
        new Program.Parts(
            peers,
            served(peers),
            lanes,
            fusedReductions.toArray(Program.FusedReduction[]::new),
            widest,
            writes,
            landed.stream().mapToInt(Integer::intValue).toArray()));
  }

  /** Notes a transfer between its two ends. */
  private void ends(int round, int from, int to, int first, int count, Effect effect) {
    widest = Math.max(widest, count);
    serves(Math.max(from, to), Math.min(from, to));
    if (contributions != null) {
      contributions.transfer(from, to, first, count, effect);
    }
    if (owners != null) {
      owners.transfer(round, from, to, first, count, effect);
    }
  }

  private boolean endsHere(Program.Step receive) {
    return receive.at < plan.chunks();
  }

  private void serves(int server, int other) {
    if (rank >= plan.contributors()
        && server >= plan.contributors()
        && other < plan.contributors()) {
      contributorsOf.computeIfAbsent(server, key -> new BitSet()).set(other);
    }
  }

  private int[] served(int[] peers) {
    BitSet served = contributorsOf.getOrDefault(rank, new BitSet());
    for (int peer : peers) {
      served.or(contributorsOf.getOrDefault(peer, new BitSet()));
    }
    return served.stream().toArray();
  }

  private static boolean all(List<List<Program.Step>> lanes, Predicate<Program.Step> condition) {
    return lanes.stream().flatMap(List::stream).allMatch(condition);
  }

  private static boolean meetsIfReduced(Program.Step step) {
    return step.effect == Effect.REPLACE || step.fused != null;
  }

  private IllegalArgumentException inNoOrder(Algorithm algorithm) {
    return new IllegalArgumentException(
        "the algorithm \""
            + algorithm.name()
            + "\" for "
            + plan.ranks()
            + " ranks passes on partial sums of "
            + plan.collective()
            + ": to take contributions in the order of ranks, or exactly, one rank must see all of"
            + " them at once; use Algorithm.direct(), exchange(), parameterServer(n) or auto()");
  }

  private void findFusedReductions(
      Contributions counts, List<Program.Step> sends, List<Program.Step> receives) {
    for (Program.Step first : receives) {
      boolean exchange = counts.isExchanged(first);
      boolean placing =
          !exchange
              && order != AddOrder.OF_ARRIVAL
              && owners != null
              && owners.allMeetAt(rank, first);
      boolean ordered = exchange || order == AddOrder.OF_RANKS && first.effect == Effect.REDUCE;
      if (first.fused != null || !ordered && !placing) {
        continue;
      }
      List<Program.Step> in = receives.stream().filter(first::isAlongside).toList();
      List<Program.Step> out = sends.stream().filter(first::hasSameChunks).toList();
      int serving = rank < plan.contributors() ? 0 : 1;
      int contributors = plan.contributors() - 1 + serving;
      placing &= out.size() == in.size();
      if (in.size() == contributors && contributors > serving && (ordered || placing)) {
        Program.FusedReduction fused =
            new Program.FusedReduction(fusedReductions.size(), ordered, placing, in);
        fusedReductions.add(fused);
        in.forEach(step -> step.fused = fused);
        if (placing) {
          out.forEach(step -> step.fused = fused);
        }
      }
    }
  }

  /** Finds the contributions of this rank that meet all others at a rank which sends the sum. */
  private static void findReturns(
      FusedOwners owners, List<Program.Step> sends, List<Program.Step> receives) {
    for (Program.Step send : sends) {
      send.returns =
          send.effect == Effect.REDUCE
              && owners.allMeetAt(send.peer, send)
              && receives.stream()
                  .anyMatch(
                      receive ->
                          receive.effect == Effect.REPLACE
                              && receive.peer == send.peer
                              && receive.hasSameChunks(send));
    }
  }

  /** Reductions into a chunk in one round may come in any order, where one rank takes the sum. */
  private void letPass(Contributions counts, List<Program.Step> receives) {
    int[] least = new int[plan.chunks()];
    int[] most = new int[plan.chunks()];
    boolean[] complete = new boolean[plan.chunks()];
    for (int from = 0, to; from < receives.size(); from = to) {
      int round = receives.get(from).round;
      for (to = from; to < receives.size() && receives.get(to).round == round; ) {
        to++;
      }
      List<Program.Step> together =
          receives.subList(from, to).stream()
              .filter(step -> step.effect == Effect.REDUCE && !counts.isExchanged(step))
              .toList();
      for (Program.Step step : together) {
        for (int i = 0; i < step.chunkCount; i++) {
          least[step.firstChunk + i] = Integer.MAX_VALUE;
          complete[step.firstChunk + i] = false;
        }
      }
      for (Program.Step step : together) {
        for (int i = 0; i < step.chunkCount; i++) {
          int chunk = step.firstChunk + i;
          least[chunk] = Math.min(least[chunk], step.writesBefore[i]);
          most[chunk] = step.writesBefore[i];
          complete[chunk] |= step.completes[i];
        }
      }
      for (Program.Step step : together) {
        for (int i = 0; i < step.chunkCount; i++) {
          int chunk = step.firstChunk + i;
          step.writesBefore[i] = least[chunk];
          step.writesAtMost[i] = most[chunk];
          step.completes[i] = complete[chunk];
          step.anyOrder |= least[chunk] < most[chunk];
        }
      }
    }
  }

  private void order(List<Program.Step> roundSends, List<Program.Step> roundReceives) {
    for (Program.Step send : roundSends) {
      for (int i = 0; i < send.chunkCount; i++) {
        int chunk = send.firstChunk + i;
        send.writesBefore[i] = writes[chunk];
        send.untouched[i] = writes[chunk] == 0;
        reads[chunk]++;
        for (Program.Step receive : roundReceives) {
          if (receive.firstChunk <= chunk && chunk < receive.firstChunk + receive.chunkCount) {
            send.copied = true;
            receive.exchanges[chunk - receive.firstChunk] = true;
          }
        }
      }
    }
    for (Program.Step receive : roundReceives) {
      for (int i = 0; i < receive.chunkCount; i++) {
        int chunk = receive.firstChunk + i;
        receive.writesBefore[i] = writes[chunk];
        receive.writesAtMost[i] = writes[chunk];
        receive.readsBefore[i] = reads[chunk];
        writes[chunk]++;
      }
    }
  }
}
