package io.collectives.bench.accuracy;

import io.collectives.ElementType;
import io.collectives.bench.model.Values;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.engine.memory.PairReduction;
import io.collectives.engine.memory.Residual;
import io.collectives.engine.memory.Scratch;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sums by a plan, without an engine: numbers are moved through its rounds, added with the engine's
 * kernels, and rounded where a rank of an engine rounds them. The bits are the engine's.
 *
 * <p>Only the chunks that are looked at are moved, and what a rank contributes is made when it is
 * first needed, so that thousands of ranks fit. A lane is walked through round by round, as a
 * verifier does ({@link io.collectives.plan.PlanVerifier}).
 *
 * <p>What a rank holds of a chunk is never changed but replaced by something new. So a transfer
 * carries what there was when its round began, whatever else the round does.
 */
final class PlanSums implements Sums {
  private final Plan plan;
  private final ElementType type;
  private final @Nullable NarrowWire narrow;
  private final Sample sample;
  private final Contributions contributions;
  private final Scratch scratch = new Scratch();
  private final PairReduction pair = new PairReduction(scratch);

  /** By rank and chunk that is looked at; nothing where it is still the rank's contribution. */
  private final @Nullable Held[][] held;

  /**
   * The residuals in the same order; null where all are zero. The array is empty without feedback.
   */
  private final @Nullable Memory[][] residuals;

  /** The transfers of a round. */
  private final List<Move> moves = new ArrayList<>();

  /** The number of these that reduce into each chunk that is looked at. */
  private final int[] reductions;

  /** By rank and chunk that is looked at: the number of the last round in which it was sent. */
  private final int[][] sentIn;

  private int roundNumber;

  private final Values result;
  private int step;

  PlanSums(
      Plan plan, ElementType type, WireChoice wire, Sample sample, Contributions contributions) {
    this.plan = plan;
    this.type = type;
    this.narrow = NarrowWire.of(wire.type());
    this.sample = sample;
    this.contributions = contributions;
    held = new Held[plan.ranks()][sample.picked()];
    residuals = new Memory[wire.feedback() ? plan.ranks() : 0][sample.picked()];
    reductions = new int[sample.picked()];
    sentIn = new int[plan.ranks()][sample.picked()];
    result = Values.of(type, sample.elements());
  }

  /**
   * The contents of a chunk at a rank.
   *
   * @param ranks how many have contributed
   */
  private record Held(Values values, Memory memory, int ranks) {}

  /** A transfer of one chunk. */
  private record Move(int from, int to, int index, Effect effect, Held carried) {}

  @Override
  public Values take(int number) {
    step = number;
    for (Held[] ofRank : held) {
      Arrays.fill(ofRank, null);
    }
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        read(lane, round);
        apply();
      }
    }
    for (int index = 0; index < sample.picked(); index++) {
      Values values = held(0, index).values;
      for (int i = 0; i < sample.length(); i++) {
        result.set(index * sample.length() + i, values.get(i));
      }
    }
    return result;
  }

  /**
   * Counts first: what is exchanged needs no moves, of which there are as many as pairs of ranks.
   */
  private void read(int lane, int round) {
    moves.clear();
    roundNumber++;
    Arrays.fill(reductions, 0);
    plan.transfers(
        lane,
        round,
        (from, to, firstChunk, chunkCount, effect) -> {
          int end = sample.firstFrom(firstChunk + chunkCount);
          for (int index = sample.firstFrom(firstChunk); index < end; index++) {
            reductions[index] += effect == Effect.REDUCE ? 1 : 0;
            sentIn[from][index] = roundNumber;
          }
        });
    plan.transfers(
        lane,
        round,
        (from, to, firstChunk, chunkCount, effect) -> {
          int end = sample.firstFrom(firstChunk + chunkCount);
          for (int index = sample.firstFrom(firstChunk); index < end; index++) {
            if (!isExchanged(index)) {
              moves.add(new Move(from, to, index, effect, held(from, index)));
            }
          }
        });
  }

  /**
   * Returns whether all ranks complete a chunk in this round, each from the contributions of all
   * others.
   */
  private boolean isExchanged(int index) {
    return plan.ranks() > 1 && reductions[index] == plan.ranks() * (plan.ranks() - 1);
  }

  private void apply() {
    for (Move move : moves) {
      held[move.to][move.index] = move.effect == Effect.REPLACE ? sent(move) : reduced(move);
    }
    for (int index = 0; index < sample.picked(); index++) {
      if (isExchanged(index)) {
        exchange(index);
      }
    }
  }

  private Held held(int rank, int index) {
    Held there = held[rank][index];
    return there == null ? contribution(rank, index) : there;
  }

  private Held contribution(int rank, int index) {
    Held made = room(1);
    contributions.fill(made.values, 0, sample.length(), step, rank, sample.chunk(index));
    return made;
  }

  private Held room(int ranks) {
    Values values = Values.of(type, sample.length());
    return new Held(values, Memories.of(values.payload()), ranks);
  }

  /** Returns what arrives. */
  private Held sent(Move move) {
    return rounded(
        move.carried, move.effect == Effect.REDUCE ? residual(move.from, move.index) : null);
  }

  private Held rounded(Held values, @Nullable Memory residual) {
    if (narrow == null) {
      return values;
    }
    Held copy = room(values.ranks);
    copy.memory.replace(0, sample.length(), values.memory, 0);
    round(copy, residual);
    return copy;
  }

  private Held reduced(Move move) {
    Held own = held(move.to, move.index);
    if (sentIn[move.to][move.index] == roundNumber) {
      own = rounded(own, null); // As its partner gets it.
    }
    Held sum = room(own.ranks + move.carried.ranks);
    add(sum, own, sent(move));
    if (sum.ranks == plan.ranks()) {
      round(sum, residual(move.to, move.index));
    }
    return sum;
  }

  /** All contributions as others get them, in the order of ranks. */
  private void exchange(int index) {
    Held sum = contribution(0, index);
    round(sum, null);
    for (int rank = 1; rank < plan.ranks(); rank++) {
      Held next = contribution(rank, index);
      round(next, null);
      add(sum, sum, next);
    }
    Held complete = new Held(sum.values, sum.memory, plan.ranks());
    for (Held[] ofRank : held) {
      ofRank[index] = complete;
    }
  }

  private void add(Held sum, Held own, Held other) {
    pair.run(sum.memory, 0, sample.length(), own.memory, 0, other.memory, 0);
  }

  private void round(Held values, @Nullable Memory residual) {
    if (narrow != null) {
      Residual kept = residual == null ? null : new Residual().at(residual, 0);
      narrow.round(values.memory, 0, sample.length(), kept, scratch);
    }
  }

  /** Returns what a rank keeps of a chunk; nothing if ranks keep nothing. */
  private @Nullable Memory residual(int rank, int index) {
    if (residuals.length == 0) {
      return null;
    }
    Memory kept = residuals[rank][index];
    if (kept == null) {
      residuals[rank][index] = kept = Memories.of(Values.of(type, sample.length()).payload());
    }
    return kept;
  }
}
