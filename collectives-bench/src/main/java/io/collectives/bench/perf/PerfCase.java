package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import java.util.Optional;

/**
 * A collective to be measured, with all settings on which ranks have to agree. The payload is the
 * whole one: the input of an all-reduce, the output of an all-gather. The root, if there is one, is
 * rank 0.
 *
 * @param ranks how many ranks of the job take part, the first ones
 * @param op how elements are reduced, if they are
 * @param count the number of elements of the payload
 * @param outOfPlace whether the result goes into memory of its own
 * @param persistent whether it is one {@linkplain io.collectives.PersistentCall persistent call}
 *     that is made again and again
 * @param check whether the first and the last result are compared with the exact one
 * @param iterations how many are timed; 0 for as many as {@code minNanos} take
 * @param minNanos how long the timed iterations take together
 * @param seed of the values
 * @param hostTraffic whether it is counted what hosts send and receive, of which each rank has its
 *     own
 * @param tensors whose tensors make up the payload of an all-reduce; if nobody's, it is one piece
 */
public record PerfCase(
    Collective collective,
    int ranks,
    AlgorithmChoice algorithm,
    ElementType type,
    ReduceOp.Standard op,
    int count,
    Memory memory,
    boolean outOfPlace,
    boolean persistent,
    boolean check,
    int iterations,
    long minNanos,
    long seed,
    boolean hostTraffic,
    Optional<ModelTensors> tensors) {
  private static final String BETWEEN = "\t";

  private static final String NOBODY = "-";

  /** Returns what is called, and how, and of whose tensors if not of one piece. */
  public String title() {
    return tensors.map(ModelTensors::toString).orElse(collective.toString())
        + (persistent ? ":persistent" : "");
  }

  /** Returns how many ranks contribute to an all-reduce: all but dedicated servers. */
  public int contributors() {
    return collective == Collective.ALL_REDUCE
            && algorithm.forRanks(ranks) instanceof Algorithm.ParameterServer servers
        ? ranks - servers.dedicated()
        : ranks;
  }

  /** Returns whether elements are reduced, so that the op matters. */
  public boolean reduces() {
    return switch (collective) {
      case ALL_REDUCE, REDUCE_SCATTER, REDUCE -> true;
      default -> false;
    };
  }

  /** Returns this case made by one persistent call. */
  public PerfCase asPersistent() {
    return new PerfCase(
        collective,
        ranks,
        algorithm,
        type,
        op,
        count,
        memory,
        outOfPlace,
        true,
        check,
        iterations,
        minNanos,
        seed,
        hostTraffic,
        tensors);
  }

  /** The length of the payload in bytes. */
  public long bytes() {
    return (long) count * type.bytes();
  }

  /** The case on one line, for another process. */
  public String line() {
    return String.join(
        BETWEEN,
        collective.name(),
        Integer.toString(ranks),
        algorithm.toString(),
        type.name(),
        op.name(),
        Integer.toString(count),
        memory.name(),
        Boolean.toString(outOfPlace),
        Boolean.toString(persistent),
        Boolean.toString(check),
        Integer.toString(iterations),
        Long.toString(minNanos),
        Long.toString(seed),
        Boolean.toString(hostTraffic),
        tensors.map(ModelTensors::line).orElse(NOBODY));
  }

  /** The case of a {@link #line()}. */
  public static PerfCase parse(String line) {
    String[] fields = line.split(BETWEEN);
    return new PerfCase(
        Collective.valueOf(fields[0]),
        Integer.parseInt(fields[1]),
        new AlgorithmChoice(fields[2]),
        ElementType.valueOf(fields[3]),
        ReduceOp.Standard.valueOf(fields[4]),
        Integer.parseInt(fields[5]),
        Memory.valueOf(fields[6]),
        Boolean.parseBoolean(fields[7]),
        Boolean.parseBoolean(fields[8]),
        Boolean.parseBoolean(fields[9]),
        Integer.parseInt(fields[10]),
        Long.parseLong(fields[11]),
        Long.parseLong(fields[12]),
        Boolean.parseBoolean(fields[13]),
        fields[14].equals(NOBODY) ? Optional.empty() : Optional.of(ModelTensors.parse(fields[14])));
  }
}
