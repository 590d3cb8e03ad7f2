package io.collectives.bench;

import io.collectives.Algorithm;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;

/**
 * Which algorithm was fastest for each payload, and how many times as long {@code auto} took: rows
 * as {@link Algorithm#auto(String)} reads them, with the figures as a remark behind each.
 */
final class PerfBest {
  private final TreeMap<Group, TreeMap<Long, List<PerfLine>>> lines =
      new TreeMap<>(Comparator.comparing(Group::where).thenComparing(Group::ranks));

  private record Group(String where, int ranks) {}

  /**
   * Notes a case.
   *
   * @param where the first word of its row, as {@code sockets}
   */
  void add(String where, PerfLine line) {
    PerfCase work = line.work();
    if (work.operand().tensors().isEmpty()
        && !work.persistent()
        && work.contributors() == work.ranks()) {
      lines
          .computeIfAbsent(
              new Group(where + " " + work.collective(), work.ranks()), key -> new TreeMap<>())
          .computeIfAbsent(work.bytes(), key -> new ArrayList<>())
          .add(line);
    }
  }

  /** A row for each payload that several algorithms were measured for. */
  List<String> rows() {
    List<String> rows = new ArrayList<>();
    lines.forEach(
        (group, bySize) -> {
          bySize.values().removeIf(some -> fixed(some).size() < 2);
          for (long bytes : bySize.keySet()) {
            Long before = bySize.lowerKey(bytes);
            Long after = bySize.higherKey(bytes);
            String range =
                (before == null ? "0" : Long.toString(middle(before, bytes)))
                    + "-"
                    + (after == null ? "inf" : Long.toString(middle(bytes, after)));
            rows.add(row(group, range, bytes, bySize.get(bytes)));
          }
        });
    return rows;
  }

  /** Writes them as a table. */
  void write(Path file, String provenance) throws IOException {
    List<String> text = new ArrayList<>();
    text.add("# " + provenance);
    text.addAll(rows());
    Files.write(file, text);
  }

  private static long middle(long one, long other) {
    return Math.round(Math.sqrt((double) one * other));
  }

  /** Returns the lines whose algorithm is fixed, not chosen by auto, the fastest first. */
  private static List<PerfLine> fixed(List<PerfLine> lines) {
    return lines.stream()
        .filter(line -> !isAuto(line))
        .sorted(Comparator.comparingDouble(line -> line.time().median()))
        .toList();
  }

  private static boolean isAuto(PerfLine line) {
    PerfCase work = line.work();
    return work.algorithm().forRanks(work.ranks()) instanceof Algorithm.Auto;
  }

  private static String row(Group group, String range, long bytes, List<PerfLine> lines) {
    List<PerfLine> fixed = fixed(lines);
    double best = fixed.get(0).time().median();
    StringBuilder row = new StringBuilder();
    row.append(
        String.format(
            Locale.ROOT,
            "%-26s %-3d: %-20s: %-20s # %s: %s",
            group.where,
            group.ranks,
            range,
            fixed.get(0).algorithm(),
            new ByteSize(bytes),
            Units.time(best)));
    for (PerfLine line : lines) {
      if (line != fixed.get(0)) {
        row.append(
            String.format(Locale.ROOT, ", %s %.2f", line.algorithm(), line.time().median() / best));
      }
    }
    return row.toString();
  }
}
