package io.collectives.plan;

import java.util.Arrays;

/**
 * The rules of {@link PlanVerifier} that need no contents: ranks, chunks, lanes, collisions within
 * a round, frames on a link. It also counts the figures of the plan.
 */
final class PlanShape {
  private final Plan plan;
  private final int ranks;
  private final int chunks;
  private final int framesAllowed;

  private final LaneChunks laneChunks;
  private final int cellsOfRank;

  /**
   * The number of the round that wrote each chunk of the lane at each rank last: positive if it was
   * reduced into, negative if it was replaced. Numbers that earlier lanes left are different.
   */
  private final int[] written;

  private final LinkFrames links;
  private final int[] peers;
  private final long[] sent;
  private final long[] received;

  private int lane;
  private int round;
  private int roundNumber;

  private long transfers;
  private int framesPerLink;

  PlanShape(Plan plan, LaneChunks laneChunks, int framesAllowed) {
    this.plan = plan;
    this.ranks = plan.ranks();
    this.chunks = plan.chunks();
    this.framesAllowed = framesAllowed;
    this.laneChunks = laneChunks;
    cellsOfRank = laneChunks.most();
    written = new int[ranks * cellsOfRank];
    links = new LinkFrames(ranks);
    peers = new int[ranks];
    sent = new long[ranks];
    received = new long[ranks];
  }

  void round(int lane, int round) {
    this.lane = lane;
    this.round = round;
    roundNumber++;
  }

  void transfer(int from, int to, int firstChunk, int chunkCount, Effect effect) {
    if (from < 0 || from >= ranks || to < 0 || to >= ranks) {
      throw fault(from, to, firstChunk, chunkCount, ", but ranks are 0 to " + (ranks - 1));
    }
    if (from == to) {
      throw fault(from, to, firstChunk, chunkCount, ", which is itself");
    }
    if (chunkCount < 1) {
      throw fault(from, to, firstChunk, chunkCount, ": at least 1 is needed");
    }
    if (firstChunk < 0 || firstChunk > chunks - chunkCount) {
      throw fault(from, to, firstChunk, chunkCount, ", but chunks are 0 to " + (chunks - 1));
    }
    for (int chunk = firstChunk; chunk < firstChunk + chunkCount; chunk++) {
      write(from, to, chunk, effect);
    }
    link(from, to, firstChunk, chunkCount);
    transfers++;
    sent[from] += chunkCount;
    received[to] += chunkCount;
  }

  private void write(int from, int to, int chunk, Effect effect) {
    if (laneChunks.lane(chunk) != lane) {
      String fault = ", but the chunk belongs to lane " + laneChunks.lane(chunk);
      throw InvalidPlanException.of(lane, round, from, to, chunk, fault);
    }
    int cell = to * cellsOfRank + laneChunks.place(chunk);
    int before = written[cell];
    if (before == roundNumber || before == -roundNumber) {
      if (before < 0 && effect == Effect.REPLACE) {
        String fault = ", where the round replaces it twice";
        throw InvalidPlanException.of(lane, round, from, to, chunk, fault);
      }
      if (before < 0 || effect == Effect.REPLACE) {
        String fault = ", where the round both reduces into it and replaces it";
        throw InvalidPlanException.of(lane, round, from, to, chunk, fault);
      }
    }
    written[cell] = effect == Effect.REPLACE ? -roundNumber : roundNumber;
  }

  private void link(int from, int to, int firstChunk, int chunkCount) {
    int known = links.size();
    int frames = links.add(from, to, roundNumber);
    if (frames > framesAllowed) {
      String fault =
          ", frame " + frames + " of the round on this link: allowed are " + framesAllowed;
      throw fault(from, to, firstChunk, chunkCount, fault);
    }
    framesPerLink = Math.max(framesPerLink, frames);
    if (links.size() > known && !links.contains(to, from)) {
      peers[from]++;
      peers[to]++;
    }
  }

  PlanFigures figures() {
    int rounds = 0;
    for (int i = 0; i < plan.lanes(); i++) {
      rounds = Math.max(rounds, plan.rounds(i));
    }
    return new PlanFigures(
        ranks,
        chunks,
        plan.lanes(),
        rounds,
        transfers,
        new PlanFigures.Load(
            Arrays.stream(sent).max().orElseThrow(),
            Arrays.stream(sent).min().orElseThrow(),
            Arrays.stream(received).max().orElseThrow()),
        new PlanFigures.Links(
            links.size(), framesPerLink, Arrays.stream(peers).max().orElseThrow()));
  }

  private InvalidPlanException fault(int from, int to, int firstChunk, int count, String fault) {
    if (count == 1) {
      return InvalidPlanException.of(lane, round, from, to, firstChunk, fault);
    }
    String what = count + " chunks from chunk " + firstChunk + " on";
    String how = "rank " + from + " sends " + what + " to rank " + to + fault;
    return InvalidPlanException.of(lane, round, how);
  }
}
