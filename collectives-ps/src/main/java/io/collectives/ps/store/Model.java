package io.collectives.ps.store;

import io.collectives.plan.Chunks;

/**
 * The model, as far as servers know it: one vector of parameters, of which each server keeps a
 * part.
 *
 * @param count the number of all parameters
 * @param tensors the number of tensors
 * @param digest a digest of the tensors' names and counts, in their order
 */
record Model(long count, int tensors, long digest) {
  static final Model EMPTY = new Model(0, 0, 0);

  /** Returns this model with one more tensor. */
  Model with(String name, long parameters) {
    long next = digest;
    for (int i = 0; i < name.length(); i++) {
      next = 31 * next + name.charAt(i);
    }
    return new Model(count + parameters, tensors + 1, 31 * (31 * next + parameters) + 1);
  }

  /** Returns the first parameter of a server's part. */
  long start(int part, int parts) {
    return Chunks.start(count, part, parts);
  }

  /** Returns the number of parameters in a server's part. */
  int partCount(int part, int parts) {
    long wanted = Chunks.count(count, part, parts);
    if (wanted > Shard.LONGEST) {
      throw new IllegalArgumentException(
          count
              + " parameters on "
              + parts
              + (parts == 1 ? " server" : " servers")
              + ": a server keeps at most "
              + Shard.LONGEST
              + "; use more servers");
    }
    return (int) wanted;
  }

  @Override
  public String toString() {
    return tensors + (tensors == 1 ? " tensor" : " tensors") + " of " + count + " parameters";
  }
}
