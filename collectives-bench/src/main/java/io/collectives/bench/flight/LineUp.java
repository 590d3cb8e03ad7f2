package io.collectives.bench.flight;

import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
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

  /**
   * Returns what is remarkable, in sentences: which ranks the others could do without, who is
   * missing, and what differs.
   */
  public List<String> findings() {
    List<String> findings = new ArrayList<>();
    Map<String, List<Row>> groups =
        rows.stream()
            .collect(Collectors.groupingBy(Row::group, LinkedHashMap::new, Collectors.toList()));
    exclusions(groups.values(), findings);
    noRecord(findings);
    groups.values().forEach(group -> missing(group, findings));
    groups.values().forEach(group -> disagreements(group, findings));
    failures(groups.values(), findings);
    return findings;
  }

  private static void disagreements(List<Row> group, List<String> findings) {
    List<Row> differing = group.stream().filter(row -> row.fingerprints().size() > 1).toList();
    if (differing.isEmpty()) {
      return;
    }
    Row first = differing.get(0);
    String more =
        differing.size() == 1 ? "" : ", nor on " + (differing.size() - 1) + " calls after it";
    findings.add(
        first.fingerprints().entrySet().stream()
            .map(print -> ranks(print.getValue()) + ": " + print.getKey())
            .collect(
                Collectors.joining(
                    "; ", "The ranks do not agree on " + name(first) + more + ". ", ".")));
  }

  /**
   * Adds the ranks without which the others might have gone on: those for which calls wait, or for
   * want of which they failed, though they are in no such call themselves.
   */
  private void exclusions(Collection<List<Row>> groups, List<String> findings) {
    Map<Integer, Set<Integer>> waiters = new TreeMap<>();
    for (List<Row> group : groups) {
      for (Row row : group) {
        for (int rank : row.calls().keySet()) {
          int awaited = awaited(row, rank);
          if (awaited >= 0 && awaited != rank && state(row, awaited) != State.PRESENT) {
            waiters.computeIfAbsent(awaited, key -> new TreeSet<>()).add(rank);
          }
        }
      }
    }
    waiters.forEach(
        (rank, by) ->
            findings.add(
                "Exclude rank "
                    + rank
                    + ": "
                    + small(by)
                    + (by.size() == 1 ? " waits" : " wait")
                    + " for it, and "
                    + lastSign(rank)
                    + "."));
  }

  /**
   * Returns the rank that keeps a call of a rank from ending: that which it waits for, or which
   * that one waits for in the same call, and so on; -1 if none is known.
   */
  private static int awaited(Row row, int rank) {
    Set<Integer> seen = new TreeSet<>();
    int at = rank;
    while (seen.add(at)) {
      FlightCall call = row.calls().get(at);
      if (call == null || call.progress().awaited().isEmpty()) {
        return at == rank ? -1 : at;
      }
      at = call.progress().awaited().getAsInt();
    }
    return -1; // They wait for each other.
  }

  private String lastSign(int rank) {
    FlightRecord record = records.get(rank);
    if (record == null) {
      return "there is no record of it";
    }
    OptionalLong last =
        record.calls().stream().mapToLong(call -> call.progress().begunMillis()).max();
    return last.isEmpty()
        ? "it has made no call"
        : "it has made no call since "
            + LocalTime.ofInstant(Instant.ofEpochMilli(last.getAsLong()), ZoneOffset.UTC)
                .truncatedTo(ChronoUnit.SECONDS)
                .format(DateTimeFormatter.ISO_LOCAL_TIME)
            + " UTC";
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

  /**
   * The words of ranks about a call.
   *
   * @param state of the call there
   * @param about the rank that it waits for, or all of the words if they name none
   */
  private record Saying(String state, String about) {}

  /**
   * Adds what the ranks say of the first call of each group that failed or is under way. What
   * several say that wait for one rank, or say alike, is one sentence.
   */
  private static void failures(Collection<List<Row>> groups, List<String> findings) {
    Map<Saying, Map<Row, List<Integer>>> sayings = new LinkedHashMap<>();
    for (List<Row> group : groups) {
      for (Row row : group) {
        boolean any = false;
        for (Map.Entry<Integer, FlightCall> of : row.calls().entrySet()) {
          FlightCall.Progress progress = of.getValue().progress();
          if (!progress.detail().isEmpty()) {
            any = true;
            String about =
                progress.state().equals("running") && progress.awaited().isPresent()
                    ? "" + progress.awaited().getAsInt()
                    : progress.detail();
            sayings
                .computeIfAbsent(new Saying(progress.state(), about), key -> new LinkedHashMap<>())
                .computeIfAbsent(row, key -> new ArrayList<>())
                .add(of.getKey());
          }
        }
        if (any) {
          break;
        }
      }
    }
    sayings.forEach((saying, where) -> findings.add(sentence(saying, where)));
  }

  private static String sentence(Saying saying, Map<Row, List<Integer>> where) {
    Map.Entry<Row, List<Integer>> first = where.entrySet().iterator().next();
    int rank = first.getValue().get(0);
    FlightCall call = first.getKey().calls().get(rank);
    String others =
        where.size() == 1
            ? ""
            : " (and "
                + (where.size() == 2 ? "1 call" : where.size() - 1 + " calls")
                + " of other groups)";
    String site = call.site().isEmpty() ? "" : ", made at " + call.site();
    boolean isOnesWord = first.getValue().size() > 1 && saying.about().length() < 10;
    return "Call "
        + first.getKey().sequence()
        + " of group "
        + first.getKey().group()
        + others
        + site
        + ", "
        + saying.state()
        + " on "
        + small(first.getValue())
        + (isOnesWord ? ", which wait for rank " + saying.about() + "; rank " + rank + " says" : "")
        + ": "
        + call.progress().detail();
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
