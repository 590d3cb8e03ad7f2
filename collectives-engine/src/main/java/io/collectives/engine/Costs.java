package io.collectives.engine;

import io.collectives.Collective;

/**
 * What a hop, a frame and a byte cost in a group while all ranks are at work, in nanoseconds, and
 * what a call by some of the {@linkplain Chooser#candidates candidates} takes from that.
 *
 * <p>The model is T = rounds x hop + frames x frame + M (sent x moved + taken x reduced): rounds in
 * sequence, frames that a rank sends (in the mean of all in an all-reduce, else the busiest one),
 * and the parts of the payload of M bytes that the busiest one sends and reduces. Those of each
 * algorithm are the closed forms that are documented with {@link io.collectives.Algorithm}.
 */
record Costs(double hop, double frame, double moved, double reduced) {

  /**
   * About what loopback was seen to do, with more ranks than processors: what a frame costs is the
   * work of a processor, and while a rank waits for one another works.
   */
  static final Costs OF_SOCKETS = new Costs(5_000, 6_000, 0.15, 0.06);

  /** The same between threads of one JVM. */
  static final Costs OF_SHARED_MEMORY = new Costs(1_000, 200, 0.03, 0.03);

  /** The same between processes that share memory, of arrays, which are copied once. */
  static final Costs BETWEEN_PROCESSES = new Costs(1_000, 300, 0.06, 0.06);

  /** The predicted nanoseconds of a call. */
  double predict(Collective collective, int candidate, int ranks, double bytes) {
    int n = ranks;
    if (n == 1) {
      return 0;
    }
    double others = n - 1;
    double part = others / n;
    int levels = Integer.SIZE - Integer.numberOfLeadingZeros(n - 1);
    boolean powerOfTwo = Integer.bitCount(n) == 1;
    // Halving and doubling hands over the payload of the ranks beyond a power of two, both ways.
    double halving = powerOfTwo ? levels : levels + 1;
    double handedOver = powerOfTwo ? 0 : 0.5;
    return switch (collective) {
      case ALL_REDUCE ->
          switch (candidate) {
            // What is sent and what arrives is copied, because both must wait for the others.
            case Chooser.EXCHANGE -> time(1, others, 2 * others, others, bytes);
            // Neighbours hand over, as above; what is sent is copied, because it is added to.
            case Chooser.RECURSIVE_DOUBLING -> {
              double doubling = powerOfTwo ? levels : levels + 1;
              yield time(doubling, doubling, 2 * doubling, doubling, bytes);
            }
            case Chooser.BINOMIAL_TREE -> time(2 * levels, 2 * part, 2 * levels, levels, bytes);
            case Chooser.DIRECT -> time(2, 2 * others, 2 * part, part, bytes);
            case Chooser.HALVING_DOUBLING ->
                time(2 * halving, 2 * halving, 2 * (part + handedOver), part + handedOver, bytes);
            default -> time(2 * others, 2 * others, 2 * part, part, bytes);
          };
      case REDUCE_SCATTER, ALL_GATHER -> {
        double taken = collective == Collective.REDUCE_SCATTER ? part : 0;
        yield switch (candidate) {
          case Chooser.EXCHANGE, Chooser.DIRECT -> time(1, others, part, taken, bytes);
          case Chooser.HALVING_DOUBLING -> time(halving, halving, part + handedOver, taken, bytes);
          default -> time(others, others, part, taken, bytes);
        };
      }
      case BROADCAST, REDUCE -> {
        double taken = collective == Collective.REDUCE ? 1 : 0;
        yield switch (candidate) {
          case Chooser.EXCHANGE, Chooser.DIRECT ->
              time(2, 2 * others, 2 * part, taken * part, bytes);
          case Chooser.HALVING_DOUBLING -> time(levels, levels, levels, taken * levels, bytes);
          // A pipeline: the payload once, and what it takes to fill it.
          default -> time(others, others, 1, taken, bytes);
        };
      }
      case GATHER, SCATTER, ALL_TO_ALL -> time(1, others, part, 0, bytes);
      case BARRIER -> throw new IllegalArgumentException("a barrier goes as an all-reduce does");
    };
  }

  private double time(double rounds, double frames, double sent, double taken, double bytes) {
    return rounds * hop + frames * frame + bytes * (sent * moved + taken * reduced);
  }
}
