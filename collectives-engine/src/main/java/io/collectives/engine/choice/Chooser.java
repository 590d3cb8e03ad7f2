package io.collectives.engine.choice;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.UnavailableException;
import io.collectives.engine.choice.AlgorithmTable.Range;
import io.collectives.engine.choice.AlgorithmTable.Row;
import io.collectives.plan.Additions;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.Algorithms;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Looks up for a group which algorithm a call goes by. For any thread, and the same on all ranks,
 * because they have the same rows: of several tables, the first one first.
 *
 * <p>Rows that cannot be are passed over: of an algorithm that no module here plans, that is not
 * for the number of ranks, or that does not bring together what must be added in the order of
 * ranks. What is left for a collective is worked out when it is first asked for, and looked up
 * then, without an allocation.
 */
public final class Chooser {
  /** Plans of more ranks are too long to be looked through. */
  private static final int MOST_RANKS_IN_ORDER = 64;

  private static final long BYTES_OF_BARRIER = 8;
  private static final String MESH_FORM = "XxY";

  private final Algorithms algorithms;
  private final Placement placement;
  private final int ranks;
  private final List<Row> rows;

  /** By collective, twice: in any order, and in that of ranks. Whoever asks first works it out. */
  private final @Nullable Steps[] steps = new Steps[2 * Collective.values().length];

  /**
   * A chooser for a group.
   *
   * @param traits by what its ranks reach each other
   * @param all of all tables, those that count first in front
   */
  public Chooser(
      Algorithms algorithms,
      Placement placement,
      Set<Locality> traits,
      int ranks,
      BufferRows buffers,
      List<Row> all) {
    this.algorithms = algorithms;
    this.placement = placement;
    this.ranks = ranks;
    this.rows =
        all.stream()
            .filter(row -> row.where() == null || traits.contains(row.where()))
            .filter(row -> row.ranks().contains(ranks) && buffers.contain(row))
            .toList();
  }

  /**
   * The algorithm of a call, and the row that it comes from.
   *
   * @param index less than {@link #choices}, the same for the same row
   * @param row nothing if no row fits
   */
  public record Choice(int index, Algorithm algorithm, @Nullable Row row) {}

  /**
   * The choices for payloads of increasing length.
   *
   * @param from the least number of bytes of each, 0 first
   */
  private record Steps(long[] from, Choice[] choices) {
    Choice at(long bytes) {
      int i = from.length - 1;
      while (from[i] > bytes) {
        i--;
      }
      return choices[i];
    }
  }

  /** Returns the greatest number of choices. */
  public int choices() {
    return rows.size() + 1;
  }

  /**
   * Returns the choice for a call.
   *
   * @param bytes that cross the links; a barrier has none
   * @param inRankOrder whether all contributions must come together
   */
  public Choice choose(Collective collective, long bytes, boolean inRankOrder) {
    if (collective == Collective.BARRIER) {
      return choose(Collective.ALL_REDUCE, BYTES_OF_BARRIER, false);
    }
    int at = 2 * collective.ordinal() + (inRankOrder ? 1 : 0);
    Steps known = steps[at];
    if (known == null) {
      known = workedOut(collective, inRankOrder);
      steps[at] = known;
    }
    return known.at(bytes);
  }

  private Steps workedOut(Collective collective, boolean inRankOrder) {
    List<Choice> fitting = new ArrayList<>();
    TreeSet<Long> starts = new TreeSet<>(Set.of(0L));
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      Algorithm algorithm = row.collective() == collective ? fitting(row, inRankOrder) : null;
      if (algorithm != null) {
        fitting.add(new Choice(i, algorithm, row));
        starts.add(row.bytes().from());
        if (row.bytes().to() < Range.NO_END) {
          starts.add(row.bytes().to() + 1);
        }
      }
    }
    Choice otherwise = new Choice(rows.size(), Algorithm.direct(), null);
    Choice[] choices =
        starts.stream().map(start -> first(fitting, start, otherwise)).toArray(Choice[]::new);
    return new Steps(starts.stream().mapToLong(start -> start).toArray(), choices);
  }

  private static Choice first(List<Choice> fitting, long bytes, Choice otherwise) {
    for (Choice choice : fitting) {
      Row row = choice.row();
      if (row != null && row.bytes().contains(bytes)) {
        return choice;
      }
    }
    return otherwise;
  }

  private @Nullable Algorithm fitting(Row row, boolean inRankOrder) {
    Algorithm algorithm = resolved(row);
    if (algorithm == null || !algorithms.suits(algorithm, ranks)) {
      return null;
    }
    algorithm = algorithms.forRanks(algorithm, ranks);
    PlanRequest request = new PlanRequest(row.collective(), ranks, 0);
    return !inRankOrder
            || ranks <= MOST_RANKS_IN_ORDER
                && Additions.areAtOnce(algorithms.plan(algorithm, request))
        ? algorithm
        : null;
  }

  /**
   * Returns the algorithm of a row, on hosts with the mesh of the group; null if it is not there.
   */
  private @Nullable Algorithm resolved(Row row) {
    AlgorithmSpec spec;
    try {
      spec = algorithms.spec(row.algorithm());
    } catch (UnavailableException e) {
      return null;
    }
    boolean open =
        row.where() == Locality.HOSTS
            && spec.parameters().form().contains(MESH_FORM)
            && spec.name().equals(row.algorithm().name());
    if (!spec.collectives().contains(row.collective()) || open && placement.mesh().isEmpty()) {
      return null;
    }
    return open ? Algorithm.named(spec.name() + ":" + placement.mesh()) : row.algorithm();
  }

  /**
   * All that rows of where the group is name for its all-reduces, each once, in the same order at
   * all ranks; nothing in place of what is not there.
   */
  public List<Optional<Algorithm>> candidates() {
    Map<Algorithm, Optional<Algorithm>> candidates = new LinkedHashMap<>();
    for (Row row : rows) {
      if (row.collective() == Collective.ALL_REDUCE
          && (row.where() == null || row.where() == placement.locality())) {
        candidates.putIfAbsent(row.algorithm(), Optional.ofNullable(fitting(row, false)));
      }
    }
    return List.copyOf(candidates.values());
  }
}
