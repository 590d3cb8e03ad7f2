package io.collectives.plan;

import io.collectives.Collective;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** A plan held as a table by lane and round, so that tests can break it. */
record TablePlan(
    Collective collective,
    int ranks,
    int root,
    int contributors,
    int chunks,
    List<List<List<Transfer>>> table)
    implements Plan {

  /** To which all contribute. */
  TablePlan(
      Collective collective, int ranks, int root, int chunks, List<List<List<Transfer>>> table) {
    this(collective, ranks, root, ranks, chunks, table);
  }

  /** With root 0, or without a root. */
  TablePlan(Collective collective, int ranks, int chunks, List<List<List<Transfer>>> table) {
    this(collective, ranks, 0, chunks, table);
  }

  static TablePlan copyOf(Plan plan) {
    List<List<List<Transfer>>> table = new ArrayList<>();
    for (int lane = 0; lane < plan.lanes(); lane++) {
      List<List<Transfer>> rounds = new ArrayList<>();
      for (int round = 0; round < plan.rounds(lane); round++) {
        rounds.add(plan.transfers(lane, round));
      }
      table.add(rounds);
    }
    return new TablePlan(
        plan.collective(), plan.ranks(), plan.root(), plan.contributors(), plan.chunks(), table);
  }

  /** A ring all-reduce: rank r owns chunk r. */
  static TablePlan ring(int ranks) {
    List<List<Transfer>> rounds = new ArrayList<>();
    for (int round = 0; round < 2 * (ranks - 1); round++) {
      Effect effect = round < ranks - 1 ? Effect.REDUCE : Effect.REPLACE;
      List<Transfer> transfers = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        int chunk = Math.floorMod(rank - round - 1, ranks);
        transfers.add(new Transfer(rank, (rank + 1) % ranks, chunk, 1, effect));
      }
      rounds.add(transfers);
    }
    return new TablePlan(Collective.ALL_REDUCE, ranks, ranks, new ArrayList<>(List.of(rounds)));
  }

  /** All ranks send all chunks to rank 0 in one transfer, which sends them the sums. */
  static TablePlan star(int ranks, int chunks) {
    List<Transfer> in = new ArrayList<>();
    List<Transfer> out = new ArrayList<>();
    for (int rank = 1; rank < ranks; rank++) {
      in.add(new Transfer(rank, 0, 0, chunks, Effect.REDUCE));
      out.add(new Transfer(0, rank, 0, chunks, Effect.REPLACE));
    }
    return new TablePlan(
        Collective.ALL_REDUCE,
        ranks,
        chunks,
        new ArrayList<>(List.of(new ArrayList<>(List.of(in, out)))));
  }

  /** Workers send chunk i of each to server i, a rank of its own, which sends them the sum. */
  static TablePlan served(int workers, int servers) {
    List<Transfer> in = new ArrayList<>();
    List<Transfer> out = new ArrayList<>();
    for (int server = 0; server < servers; server++) {
      for (int worker = 0; worker < workers; worker++) {
        in.add(new Transfer(worker, workers + server, server, 1, Effect.REDUCE));
        out.add(new Transfer(workers + server, worker, server, 1, Effect.REPLACE));
      }
    }
    return new TablePlan(
        Collective.ALL_REDUCE,
        workers + servers,
        0,
        workers,
        servers,
        new ArrayList<>(List.of(new ArrayList<>(List.of(in, out)))));
  }

  /** Returns these transfers, said to be of so many contributors. */
  TablePlan contributedBy(int other) {
    return new TablePlan(collective, ranks, root, other, chunks, table);
  }

  /** Returns a plan that is done twice, each time on chunks of its own. */
  static TablePlan twice(TablePlan plan) {
    TablePlan both = copyOf(plan);
    for (List<List<Transfer>> rounds : plan.table) {
      List<List<Transfer>> moved = new ArrayList<>();
      for (List<Transfer> transfers : rounds) {
        List<Transfer> copies = new ArrayList<>();
        for (Transfer t : transfers) {
          int chunk = t.firstChunk() + plan.chunks;
          copies.add(new Transfer(t.from(), t.to(), chunk, t.chunkCount(), t.effect()));
        }
        moved.add(copies);
      }
      both.table.add(moved);
    }
    return new TablePlan(
        plan.collective, plan.ranks, plan.root, plan.contributors, 2 * plan.chunks, both.table);
  }

  List<Transfer> round(int lane, int round) {
    return table.get(lane).get(round);
  }

  /** Replaces the transfer of lane 0 that goes from {@code from} in a round. */
  TablePlan with(int round, int from, Transfer other) {
    round(0, round).replaceAll(t -> t.from() == from ? other : t);
    return this;
  }

  TablePlan plus(int round, Transfer more) {
    round(0, round).add(more);
    return this;
  }

  /** Leaves out the transfer of lane 0 from one rank to another in a round. */
  TablePlan without(int round, int from, int to) {
    round(0, round).removeIf(t -> t.from() == from && t.to() == to);
    return this;
  }

  /** Changes all transfers of lane 0; those that become transfers to the sender are left out. */
  TablePlan changed(UnaryOperator<Transfer> change) {
    for (List<Transfer> transfers : table.get(0)) {
      transfers.replaceAll(change);
      transfers.removeIf(t -> t.from() == t.to());
    }
    return this;
  }

  /** With one more round of lane 0. */
  TablePlan and(List<Transfer> last) {
    table.get(0).add(new ArrayList<>(last));
    return this;
  }

  /** Returns these transfers, said to be of another root. */
  TablePlan rootedAt(int other) {
    return new TablePlan(collective, ranks, other, contributors, chunks, table);
  }

  @Override
  public int lanes() {
    return table.size();
  }

  @Override
  public int rounds(int lane) {
    return table.get(lane).size();
  }

  @Override
  public void transfers(int lane, int round, Transfer.Sink sink) {
    for (Transfer t : round(lane, round)) {
      sink.transfer(t.from(), t.to(), t.firstChunk(), t.chunkCount(), t.effect());
    }
  }
}
