package io.collectives.ps.store;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The state of a server: its part of the parameters with the optimizer's state, and the number of
 * updates. It belongs to the thread that serves.
 */
final class Shard {
  /** Some virtual machines cannot make the longest arrays. */
  static final int LONGEST = Integer.MAX_VALUE - 8;

  final int part;
  final int parts;

  /** The model; null until a worker, or a checkpoint, has described it. */
  @Nullable Model model;

  float[] weights = new float[0];
  float[][] state = new float[0][];

  /** The name of the optimizer to which the state belongs; null before there is any. */
  @Nullable String optimizer;

  /** The number of updates that the weights have had. */
  long updates;

  /** The clock of workers without an entry in {@link #clocks}: that of the checkpoint. */
  long clock;

  /** The number of gradients of each worker that are in the weights, by its rank in the job. */
  final Map<Integer, Long> clocks = new HashMap<>();

  boolean isRestored;

  /** The clock of the newest checkpoint that this server has written, -1 if there is none. */
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

  /** Returns whether the first weights must still come from a worker. */
  boolean needsWeights() {
    return updates == 0 && !isRestored;
  }

  @Override
  public String toString() {
    return "part " + part + " of " + parts;
  }
}
