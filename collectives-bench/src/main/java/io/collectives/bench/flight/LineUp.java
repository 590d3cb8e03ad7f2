package io.collectives.bench.flight;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The records of several ranks side by side.
 *
 * <p>A call is known by its group and its number in it; all members of a group make the same calls
 * in the same order. So a rank whose record ends before a call of its group has not made that call,
 * and a call that two ranks describe differently is the programs' fault.
 *
 * <p>A record holds the last calls only. What is older than its oldest call is {@link
 * State#FORGOTTEN}, never missing. Within a group calls are in the order of their numbers; between
 * groups in that of the ranks' clocks, which may differ a little.
 */
public final class LineUp {
  /** The largest number of ranks that a sentence names. */
  private static final int NAMED = 16;

  private final Map<Integer, FlightRecord> records = new TreeMap<>();
  private final Map<String, List<Integer>> members = new HashMap<>();
  private final List<Row> rows = new ArrayList<>();

  /** The state of a call in the record of a rank. */
  public enum State {
    /** It holds it. */
    PRESENT,
    /** The rank has not made it. */
    MISSING,
    /** It does not reach back so far. */
    FORGOTTEN,
    /** There is no record of that rank. */
    NO_RECORD,
    /** The rank is not in that group. */
    OUTSIDE
  }

  /**
   * A call, and what each rank says of it.
   *
   * @param calls by world rank; without those that do not have it
   */
  public record Row(
      String group, List<Integer> members, long sequence, Map<Integer, FlightCall> calls) {
    /** Returns what the lowest rank says. */
    public FlightCall any() {
      return calls.values().iterator().next();
    }

    private long begunMillis() {
      return calls.values().stream()
          .mapToLong(call -> call.progress().begunMillis())
          .min()
          .orElse(0);
    }

    /** The ranks by what they say that the call is. */
    Map<String, List<Integer>> fingerprints() {
      Map<String, List<Integer>> prints = new LinkedHashMap<>();
      calls.forEach(
          (rank, call) ->
              prints
                  .computeIfAbsent(call.operation().toString(), key -> new ArrayList<>())
                  .add(rank));
      return prints;
    }
  }

  private LineUp() {}

  /**
   * Lines records up.
   *
   * @throws IllegalArgumentException if two are of the same rank, or a group has other members in
   *     one than in another
   */
  public static LineUp of(Collection<FlightRecord> records) {
    LineUp lineUp = new LineUp();
    Map<String, TreeMap<Long, Row>> groups = new LinkedHashMap<>();
    for (FlightRecord record : records) {
      if (lineUp.records.put(record.rank(), record) != null) {
        throw new IllegalArgumentException(
            "two records are of rank "
                + record.rank()
                + ": give those of one failure of one job only");
      }
    }
    for (FlightRecord record : lineUp.records.values()) {
      for (FlightCall call : record.calls()) {
        List<Integer> members = lineUp.members.computeIfAbsent(call.group(), key -> call.members());
        if (!members.equals(call.members())) {
          throw new IllegalArgumentException(
              "group "
                  + call.group()
                  + " has members "
                  + call.members()
                  + " in the record of rank "
                  + record.rank()
                  + " and "
                  + members
                  + " in another: these are not of one job");
        }
        groups
            .computeIfAbsent(call.group(), key -> new TreeMap<>())
            .computeIfAbsent(
                call.sequence(),
                key -> new Row(call.group(), members, call.sequence(), new TreeMap<>()))
            .calls()
            .put(record.rank(), call);
      }
    }
    lineUp.sort(groups);
    return lineUp;
  }

  private void sort(Map<String, TreeMap<Long, Row>> groups) {
    Map<Row, Long> times = new IdentityHashMap<>();
    for (TreeMap<Long, Row> group : groups.values()) {
      long latest = 0;
      for (Row row : group.values()) {
        latest = Math.max(latest, row.begunMillis());
        times.put(row, latest);
        rows.add(row);
      }
    }
    rows.sort(
        Comparator.<Row>comparingLong(times::get)
            .thenComparing(Row::group)
            .thenComparingLong(Row::sequence));
  }

  /** The calls, newest last. */
  public List<Row> rows() {
    return List.copyOf(rows);
  }

  /** Returns whether there is a record of a rank. */
  public boolean hasRecord(int rank) {
    return records.containsKey(rank);
  }

  /** All ranks that are known to exist, ascending. */
  public List<Integer> ranks() {
    Set<Integer> ranks = new TreeSet<>(records.keySet());
    members.values().forEach(ranks::addAll);
    return List.copyOf(ranks);
  }

  /** Returns what the record of a rank says of a call. */
  public State state(Row row, int rank) {
    if (!row.members().contains(rank)) {
      return State.OUTSIDE;
    }
    FlightRecord record = records.get(rank);
    if (record == null) {
      return State.NO_RECORD;
    }
    if (row.calls().containsKey(rank)) {
      return State.PRESENT;
    }
    long[] own =
        record.calls().stream()
            .filter(call -> call.group().equals(row.group()))
            .mapToLong(FlightCall::sequence)
            .toArray();
    if (own.length > 0) {
      return row.sequence() > own[own.length - 1] ? State.MISSING : State.FORGOTTEN;
    }
    // Of this group it knows nothing: has it forgotten it, or never called it?
    boolean older =
        !record.calls().isEmpty()
            && row.begunMillis() < record.calls().get(0).progress().begunMillis();
    return !record.complete() && older ? State.FORGOTTEN : State.MISSING;
  }

  /** For how long a call was under way at a rank, in milliseconds; empty if that cannot be told. */
  public OptionalLong millis(Row row, int rank) {
    FlightCall call = row.calls().get(rank);
    if (call == null) {
      return OptionalLong.empty();
    }
    OptionalLong end =
        call.progress().endedMillis().isPresent()
            ? call.progress().endedMillis()
            : records.get(rank).atMillis();
    return end.isPresent()
        ? OptionalLong.of(Math.max(0, end.getAsLong() - call.progress().begunMillis()))
        : end;
  }

  /** Returns what is remarkable, in sentences: who is missing, and what differs. */
  public List<String> findings() {
    List<String> findings = new ArrayList<>();
    noRecord(findings);
    Map<String, List<Row>> groups =
        rows.stream()
            .collect(Collectors.groupingBy(Row::group, LinkedHashMap::new, Collectors.toList()));
    groups.values().forEach(group -> missing(group, findings));
    for (Row row : rows) {
      Map<String, List<Integer>> prints = row.fingerprints();
      if (prints.size() > 1) {
        findings.add(
            prints.entrySet().stream()
                .map(print -> ranks(print.getValue()) + ": " + print.getKey())
                .collect(
                    Collectors.joining(
                        "; ", "The ranks do not agree on " + name(row) + ". ", ".")));
      }
    }
    groups.values().forEach(group -> failures(group, findings));
    return findings;
  }

  private void noRecord(List<String> findings) {
    List<Integer> without = ranks().stream().filter(rank -> !records.containsKey(rank)).toList();
    if (!without.isEmpty()) {
      findings.add(
          "There is no record of "
              + small(without)
              + ": killed or stopped, perhaps, or its file was not given.");
    }
    int size =
        records.values().stream().mapToInt(record -> record.size().orElse(0)).max().orElse(0);
    if (size > ranks().size()) {
      findings.add(
          "The job has " + size + " ranks; there are records of " + records.size() + " of them.");
    }
  }

  /** Adds the ranks that lag behind the others of a group, and by how much. */
  private void missing(List<Row> group, List<String> findings) {
    Map<List<Row>, List<Integer>> late = new LinkedHashMap<>();
    for (int rank : group.get(0).members()) {
      List<Row> missing = group.stream().filter(row -> state(row, rank) == State.MISSING).toList();
      if (!missing.isEmpty()) {
        late.computeIfAbsent(missing, key -> new ArrayList<>()).add(rank);
      }
    }
    late.forEach(
        (missing, ranks) -> {
          Row first = missing.get(0);
          Set<Integer> others = first.calls().keySet();
          findings.add(
              ranks(ranks)
                  + (ranks.size() == 1 ? " has" : " have")
                  + " not made "
                  + name(first)
                  + " ("
                  + first.any().operation()
                  + "), which "
                  + small(others)
                  + (others.size() == 1 ? " has" : " have")
                  + (missing.size() == 1
                      ? "."
                      : ", and none of the " + (missing.size() - 1) + " known after it."));
        });
  }

  /** Returns what the ranks say of the first call of a group that failed or is under way. */
  private static void failures(List<Row> group, List<String> findings) {
    for (Row row : group) {
      Map<List<String>, List<Integer>> sayings = new LinkedHashMap<>();
      row.calls()
          .forEach(
              (rank, call) -> {
                if (!call.progress().detail().isEmpty()) {
                  sayings
                      .computeIfAbsent(
                          List.of(call.progress().state(), call.progress().detail()),
                          key -> new ArrayList<>())
                      .add(rank);
                }
              });
      sayings.forEach(
          (saying, ranks) ->
              findings.add(
                  "Call "
                      + row.sequence()
                      + " of group "
                      + row.group()
                      + ", "
                      + saying.get(0)
                      + " on "
                      + small(ranks)
                      + ": "
                      + saying.get(1)));
      if (!sayings.isEmpty()) {
        return;
      }
    }
  }

  private static String name(Row row) {
    return "call " + row.sequence() + " of group " + row.group();
  }

  private static String small(Collection<Integer> ranks) {
    return ranks(ranks).replaceFirst("^R", "r");
  }

  private static String ranks(Collection<Integer> ranks) {
    String others = ranks.size() > NAMED ? " and " + (ranks.size() - NAMED) + " others" : "";
    return ranks.stream()
        .limit(NAMED)
        .map(rank -> Integer.toString(rank))
        .collect(Collectors.joining(", ", ranks.size() == 1 ? "Rank " : "Ranks ", others));
  }
}
