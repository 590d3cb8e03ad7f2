package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A collective to be measured, with all settings on which ranks have to agree. The payload is the
 * whole one: the input of an all-reduce, the output of an all-gather. The root, if there is one, is
 * rank 0.
 *
 * @param members the ranks of the job that take part
 * @param operand the elements of the payload
 * @param buffers the memory in which they lie
 * @param persistent whether it is one {@linkplain io.collectives.PersistentCall persistent call}
 *     that is made again and again
 * @param method how it is measured
 */
public record PerfCase(
    Collective collective,
    Members members,
    AlgorithmChoice algorithm,
    Operand operand,
    Buffers buffers,
    boolean persistent,
    Method method) {
  private static final String BETWEEN = "\t";

  private static final String NOBODY = "-";
  private static final String GROUPS = "groups:";

  /** A case of which the first ranks of the job take part, in one group. */
  public PerfCase(
      Collective collective,
      int ranks,
      AlgorithmChoice algorithm,
      Operand operand,
      Buffers buffers,
      boolean persistent,
      Method method) {
    this(
        collective, new Members(ranks, List.of()), algorithm, operand, buffers, persistent, method);
  }

  /**
   * The ranks that take part.
   *
   * @param ranks how many make up a group
   * @param groups the ranks of each group in their order, all of which do the same at once; if
   *     there are none, the first ranks of the job are the only one. Groups are those of a mesh,
   *     whose links are counted
   */
  public record Members(int ranks, List<List<Integer>> groups) {
    /** Its own lists. */
    public Members {
      groups = groups.stream().map(List::copyOf).toList();
    }

    private String word() {
      return groups.isEmpty()
          ? Integer.toString(ranks)
          : groups.stream()
              .map(group -> group.stream().map(String::valueOf).collect(Collectors.joining(",")))
              .collect(Collectors.joining(";", GROUPS, ""));
    }

    private static Members parse(String word) {
      if (!word.startsWith(GROUPS)) {
        return new Members(Integer.parseInt(word), List.of());
      }
      List<List<Integer>> groups =
          Arrays.stream(word.substring(GROUPS.length()).split(";"))
              .map(group -> Arrays.stream(group.split(",")).map(Integer::valueOf).toList())
              .toList();
      return new Members(groups.get(0).size(), groups);
    }
  }

  /**
   * The elements of a payload.
   *
   * @param op how they are reduced, if they are
   * @param count their number
   * @param seed of their values
   * @param tensors whose tensors make up the payload of an all-reduce; if nobody's, it is one piece
   */
  public record Operand(
      ElementType type,
      ReduceOp.Standard op,
      int count,
      long seed,
      Optional<ModelTensors> tensors) {}

  /**
   * The memory in which a payload lies.
   *
   * @param outOfPlace whether the result goes into memory of its own
   */
  public record Buffers(Memory memory, boolean outOfPlace) {}

  /**
   * The way in which a case is measured.
   *
   * @param iterations how many are timed; 0 for as many as {@code minNanos} take
   * @param minNanos how long the timed iterations take together
   * @param check whether the first and the last result are compared with the exact one
   * @param hostTraffic whether it is counted what hosts send and receive, of which each rank has
   *     its own
   */
  public record Method(int iterations, long minNanos, boolean check, boolean hostTraffic) {}

  /** Returns how many ranks make up a group. */
  public int ranks() {
    return members.ranks;
  }

  /** Returns this case with another algorithm, for groups of ranks of a mesh. */
  public PerfCase on(AlgorithmChoice other, List<List<Integer>> groups) {
    Members seated = new Members(groups.get(0).size(), groups);
    return new PerfCase(collective, seated, other, operand, buffers, persistent, method);
  }

  /** Returns this case of other elements. */
  public PerfCase of(Operand other) {
    return new PerfCase(collective, members, algorithm, other, buffers, persistent, method);
  }

  /** Returns what is called, and how, and of whose tensors if not of one piece. */
  public String title() {
    return operand.tensors.map(ModelTensors::toString).orElse(collective.toString())
        + (persistent ? ":persistent" : "");
  }

  /** Returns how many ranks contribute to an all-reduce: all but dedicated servers. */
  public int contributors() {
    return collective == Collective.ALL_REDUCE
            && algorithm.forRanks(ranks()) instanceof Algorithm.ParameterServer servers
        ? ranks() - servers.dedicated()
        : ranks();
  }

  /** Returns whether elements are reduced, so that the op matters. */
  public boolean reduces() {
    return collective.reduces();
  }

  /** Returns this case made by one persistent call. */
  public PerfCase asPersistent() {
    return new PerfCase(collective, members, algorithm, operand, buffers, true, method);
  }

  /** The length of the payload in bytes. */
  public long bytes() {
    return (long) operand.count * operand.type.bytes();
  }

  /** The case on one line, for another process. */
  public String line() {
    return String.join(
        BETWEEN,
        collective.name(),
        members.word(),
        algorithm.toString(),
        operand.type.name(),
        operand.op.name(),
        Integer.toString(operand.count),
        buffers.memory.name(),
        Boolean.toString(buffers.outOfPlace),
        Boolean.toString(persistent),
        Boolean.toString(method.check),
        Integer.toString(method.iterations),
        Long.toString(method.minNanos),
        Long.toString(operand.seed),
        Boolean.toString(method.hostTraffic),
        operand.tensors.map(ModelTensors::line).orElse(NOBODY));
  }

  /** The case of a {@link #line()}. */
  public static PerfCase parse(String line) {
    String[] fields = line.split(BETWEEN);
    return new PerfCase(
        Collective.valueOf(fields[0]),
        Members.parse(fields[1]),
        new AlgorithmChoice(fields[2]),
        new Operand(
            ElementType.valueOf(fields[3]),
            ReduceOp.Standard.valueOf(fields[4]),
            Integer.parseInt(fields[5]),
            Long.parseLong(fields[12]),
            fields[14].equals(NOBODY)
                ? Optional.empty()
                : Optional.of(ModelTensors.parse(fields[14]))),
        new Buffers(Memory.valueOf(fields[6]), Boolean.parseBoolean(fields[7])),
        Boolean.parseBoolean(fields[8]),
        new Method(
            Integer.parseInt(fields[10]),
            Long.parseLong(fields[11]),
            Boolean.parseBoolean(fields[9]),
            Boolean.parseBoolean(fields[13])));
  }
}
