package io.collectives.bench.perf;

import io.collectives.ElementType;
import io.collectives.ReduceOp;

/**
 * One all-reduce to be measured; everything that all ranks have to agree on.
 *
 * @param count the number of elements
 * @param outOfPlace whether the result goes into memory of its own
 * @param check whether the first and the last result are compared with the exact one
 * @param iterations how many are timed; 0 for as many as {@code minNanos} take
 * @param minNanos how long the timed iterations take together
 * @param seed of the values
 */
public record PerfCase(
    AlgorithmChoice algorithm,
    ElementType type,
    ReduceOp op,
    int count,
    Memory memory,
    boolean outOfPlace,
    boolean check,
    int iterations,
    long minNanos,
    long seed) {
  private static final String BETWEEN = "\t";

  /** The length of the payload in bytes. */
  public long bytes() {
    return (long) count * type.bytes();
  }

  /** The case on one line, for another process. */
  public String line() {
    return String.join(
        BETWEEN,
        algorithm.toString(),
        type.name(),
        op.name(),
        Integer.toString(count),
        memory.name(),
        Boolean.toString(outOfPlace),
        Boolean.toString(check),
        Integer.toString(iterations),
        Long.toString(minNanos),
        Long.toString(seed));
  }

  /** The case of a {@link #line()}. */
  public static PerfCase parse(String line) {
    String[] fields = line.split(BETWEEN);
    return new PerfCase(
        AlgorithmChoice.parse(fields[0]),
        ElementType.valueOf(fields[1]),
        ReduceOp.valueOf(fields[2]),
        Integer.parseInt(fields[3]),
        Memory.valueOf(fields[4]),
        Boolean.parseBoolean(fields[5]),
        Boolean.parseBoolean(fields[6]),
        Integer.parseInt(fields[7]),
        Long.parseLong(fields[8]),
        Long.parseLong(fields[9]));
  }
}
