package io.collectives.ps.store;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a server keeps: its part of the parameters with the optimizer's state, and how far it is.
 * Belongs to the thread that serves.
 */
final class Shard {
  /** Some virtual machines cannot make the longest arrays. */
  static final int LONGEST = Integer.MAX_VALUE - 8;

  final int part;
  final int parts;

  /** Nothing until a worker, or a snapshot, has told. */
  @Nullable Model model;

  float[] weights = new float[0];
  float[][] state = new float[0][];

  /** What the state is of; nothing before there is any. */
  @Nullable String optimizer;

  /** How many updates the weights have had. */
  long updates;

  /** The clock of a worker that nothing else is known of: that of the snapshot. */
  long clock;

  /** How many gradients of a worker the weights have in them, by its rank in the job. */
  final Map<Integer, Long> clocks = new HashMap<>();

  boolean isRestored;

  /** The clock of the newest snapshot that this server has written, -1 if there is none. */
  long written = -1;

  Shard(int part, int parts) {
    this.part = part;
    this.parts = parts;
  }

  /** Makes room for a part of a model. */
  void allocate(Model wanted, String optimizerName, int stateCount) {
    int count = wanted.partCount(part, parts);
    model = wanted;
    optimizer = optimizerName;
    weights = new float[count];
    state = new float[stateCount][count];
  }

  /** Whether the first weights are still to come from a worker. */
  boolean needsWeights() {
    return updates == 0 && !isRestored;
  }

  @Override
  public String toString() {
    return "part " + part + " of " + parts;
  }
}
