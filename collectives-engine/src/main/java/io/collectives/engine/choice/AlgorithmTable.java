package io.collectives.engine.choice;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.spi.Algorithms;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Rows that say which algorithm a call goes by, the first one that fits. Immutable.
 *
 * <pre>
 *   table  = [entry] { (";" | end of line) [entry] }      what follows a "#" is for people
 *   entry  = [where] collective [ranks] ":" choice { "," choice }
 *   choice = bytes ":" algorithm
 *   where  = "slots" | "buffers" | "leases" | "threads" | "shared-memory" | "sockets" | "hosts"
 *   ranks  = "4" | "3-8" | "9-inf"
 *   bytes  = "0-4K" | "4K-inf"                            both ends belong to it
 * </pre>
 *
 * <p>It is read without regular expressions and streams, because every rank reads the shipped one
 * before its first call, when none of that is compiled yet.
 *
 * <p>An algorithm is written as {@link Algorithm#parse} reads it. One without a mesh in a row of
 * {@code hosts} gets a row of the mesh for each host.
 *
 * @param rows in the order in which they count
 */
public record AlgorithmTable(List<Row> rows) {
  private static final String RESOURCE = "algorithms.txt";
  private static final String ROW = "[where] collective [ranks]: bytes: algorithm, …";
  private static final List<String> UNITS = List.of("G", "M", "K");
  private static final Range ANY_RANKS = new Range(1, Range.NO_END);

  /** The table that the library comes with. */
  public static final AlgorithmTable SHIPPED = shipped();

  /** Keeps a copy. */
  public AlgorithmTable {
    rows = List.copyOf(rows);
  }

  /**
   * Numbers of ranks or bytes for which a row is.
   *
   * @param from the least of them
   * @param to the greatest
   */
  public record Range(long from, long to) {
    /** The greatest number of a range that has no end. */
    static final long NO_END = Long.MAX_VALUE;

    /** Returns whether a number is one of them. */
    boolean contains(long number) {
      return from <= number && number <= to;
    }
  }

  /**
   * A row of the table.
   *
   * @param where nothing for everywhere
   * @param bytes that cross the links
   * @param source where it comes from, for people
   */
  public record Row(
      @Nullable Locality where,
      Collective collective,
      Range ranks,
      Range bytes,
      Algorithm algorithm,
      String source) {

    /** Returns the row as it is written in a table. */
    @Override
    public String toString() {
      String size =
          ranks.equals(ANY_RANKS)
              ? ""
              : " " + ranks.from + (ranks.to == ranks.from ? "" : "-" + end(ranks.to));
      return (where == null ? "" : where + " ")
          + collective
          + size
          + ": "
          + written(bytes.from)
          + "-"
          + written(bytes.to)
          + ": "
          + algorithm.name();
    }

    private static String end(long ranks) {
      return ranks == Range.NO_END ? "inf" : Long.toString(ranks);
    }

    private static String written(long bytes) {
      if (bytes == Range.NO_END) {
        return "inf";
      }
      for (String unit : UNITS) {
        long one = unit(unit);
        if (bytes > 0 && bytes % one == 0) {
          return bytes / one + unit;
        }
      }
      return Long.toString(bytes);
    }
  }

  /**
   * Reads a table of a user.
   *
   * @throws IllegalArgumentException if it is none, saying where, what stands there, and what may
   */
  public static AlgorithmTable parse(Algorithm.Auto auto, Algorithms algorithms) {
    return new AlgorithmTable(new Parser(auto.rows(), auto.source(), algorithms::parse).rows());
  }

  private static AlgorithmTable shipped() {
    try (InputStream in = AlgorithmTable.class.getResourceAsStream(RESOURCE)) {
      String text = new String(Objects.requireNonNull(in, RESOURCE).readAllBytes(), UTF_8);
      // Modules that plan them may be missing.
      return new AlgorithmTable(new Parser(text, "the shipped table", Algorithm::named).rows());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * By which ranks compare what users have written; the same for the same rows.
   *
   * @throws IllegalArgumentException if that is no table
   */
  public static String fingerprint(Algorithm.Auto auto, Algorithms algorithms) {
    boolean shipped = auto.rows().equals(Algorithm.Auto.SHIPPED);
    String rows = shipped ? auto.rows() : parse(auto, algorithms).toString();
    CRC32C sum = new CRC32C();
    sum.update(rows.getBytes(UTF_8));
    return String.format(Locale.ROOT, "%08x", sum.getValue());
  }

  /**
   * The rows of all tables, those that count first in front. Tuning measures frames, so shipped
   * rows for what takes none, and for memory that all ranks reach, stay before what it finds.
   */
  public static List<Row> inOrder(List<Row> users, List<Row> tuned) {
    List<Row> rows = new ArrayList<>(users);
    SHIPPED.rows.stream()
        .filter(row -> row.where != null && row.where.isNotTuned())
        .forEach(rows::add);
    rows.addAll(tuned);
    rows.addAll(SHIPPED.rows);
    return rows;
  }

  /** A row a line. */
  @Override
  public String toString() {
    return rows.stream().map(Row::toString).collect(Collectors.joining("\n"));
  }

  private static long unit(String letter) {
    return 1L << 10 * (UNITS.size() - UNITS.indexOf(letter));
  }

  /** A word of a table, and where it stands. */
  private record Word(String text, int from, int to) {}

  /** Reads a text, whose positions it tells in errors. */
  private static final class Parser {
    private final String text;
    private final String source;
    private final Function<String, Algorithm> algorithms;
    private final List<Row> rows = new ArrayList<>();

    Parser(String text, String source, Function<String, Algorithm> algorithms) {
      this.text = withoutComments(text);
      this.source = source;
      this.algorithms = algorithms;
    }

    /** Puts blanks where comments are, so that all else stays where it is. */
    private static String withoutComments(String text) {
      char[] chars = text.toCharArray();
      boolean inComment = false;
      for (int i = 0; i < chars.length; i++) {
        inComment = chars[i] == '#' || inComment && chars[i] != '\n';
        if (inComment) {
          chars[i] = ' ';
        }
      }
      return new String(chars);
    }

    List<Row> rows() {
      for (int from = 0, to; from < text.length(); from = to + 1) {
        to = from;
        while (to < text.length() && text.charAt(to) != ';' && text.charAt(to) != '\n') {
          to++;
        }
        if (!text.substring(from, to).isBlank()) {
          entry(from, to);
        }
      }
      return rows;
    }

    private List<Word> words(int from, int to) {
      List<Word> words = new ArrayList<>();
      int start = from;
      for (int i = from; i <= to; i++) {
        if (i == to || Character.isWhitespace(text.charAt(i))) {
          if (start < i) {
            words.add(new Word(text.substring(start, i), start, i));
          }
          start = i + 1;
        }
      }
      return words;
    }

    private void entry(int from, int to) {
      int colon = text.indexOf(':', from);
      if (colon < 0 || colon >= to) {
        throw wrong(from, to, "needed is " + ROW);
      }
      List<Word> words = words(from, colon);
      int next = 0;
      Locality where = null;
      for (Locality some : Locality.values()) {
        if (!words.isEmpty() && words.get(0).text.equals(some.toString())) {
          where = some;
          next = 1;
        }
      }
      Collective collective = null;
      for (Collective some : Collective.values()) {
        if (next < words.size() && words.get(next).text.equals(some.toString())) {
          collective = some;
        }
      }
      if (collective == null || collective == Collective.BARRIER) {
        throw wrong(
            next < words.size() ? words.get(next).from : from,
            next < words.size() ? words.get(next).to : colon,
            "needed is one of "
                + Arrays.stream(Collective.values())
                    .filter(some -> some != Collective.BARRIER)
                    .map(Collective::toString)
                    .collect(Collectors.joining(", "))
                + ", and before it there may be one of "
                + Arrays.stream(Locality.values())
                    .map(Locality::toString)
                    .collect(Collectors.joining(", ")));
      }
      Range ranks = ANY_RANKS;
      for (Word word : words.subList(next + 1, words.size())) {
        int dash = word.text.indexOf('-');
        ranks = range(dash < 0 ? word.text + "-" + word.text : word.text, false);
        if (word != words.get(next + 1) || ranks == null) {
          throw wrong(word.from, word.to, "needed are ranks, as 4, 3-8 or 9-inf");
        }
        if (ranks.from > ranks.to) {
          throw wrong(word.from, word.to, "needed is the least number of ranks first");
        }
      }
      for (int at = colon + 1; at <= to; ) {
        int comma = text.indexOf(',', at);
        int end = comma < 0 || comma > to ? to : comma;
        choice(where, collective, ranks, at, end);
        at = end + 1;
      }
    }

    private void choice(
        @Nullable Locality where, Collective collective, Range ranks, int from, int to) {
      String written = text.substring(from, to);
      int colon = written.indexOf(':');
      Range bytes = range(written.substring(0, Math.max(colon, 0)).strip(), true);
      if (bytes == null || bytes.from > bytes.to) {
        throw wrong(from, to, "needed are bytes and an algorithm, as 0-4K: ring or 4K-inf: ring");
      }
      String name = written.substring(colon + 1).strip();
      Algorithm algorithm;
      try {
        algorithm = algorithms.apply(name);
      } catch (IllegalArgumentException e) {
        throw wrong(
            from + colon + 1, to, Objects.requireNonNullElseGet(e.getMessage(), e::toString));
      }
      rows.add(
          new Row(where, collective, ranks, bytes, algorithm, source + ", line " + line(from)));
    }

    /** Reads two numbers with a dash between them; null if they are none. */
    private static @Nullable Range range(String text, boolean mayHaveUnits) {
      int dash = text.indexOf('-');
      if (dash < 0) {
        return null;
      }
      long from = number(text.substring(0, dash), mayHaveUnits);
      String end = text.substring(dash + 1);
      long to = end.equals("inf") ? Range.NO_END : number(end, mayHaveUnits);
      return from < 0 || to < 0 ? null : new Range(from, to);
    }

    /** Reads a number of at most nine digits; -1 if it is none. */
    private static long number(String text, boolean mayHaveUnit) {
      int digits = 0;
      while (digits < text.length() && text.charAt(digits) >= '0' && text.charAt(digits) <= '9') {
        digits++;
      }
      String unit = text.substring(digits);
      boolean good = unit.isEmpty() || mayHaveUnit && UNITS.contains(unit);
      if (!good || digits == 0 || digits > 9) {
        return -1;
      }
      return Long.parseLong(text.substring(0, digits)) * (unit.isEmpty() ? 1 : unit(unit));
    }

    private int line(int at) {
      int line = 1;
      for (int i = 0; i < at; i++) {
        line += text.charAt(i) == '\n' ? 1 : 0;
      }
      return line;
    }

    private IllegalArgumentException wrong(int from, int to, String needed) {
      String given = text.substring(from, to);
      int at = from + given.length() - given.stripLeading().length();
      return new IllegalArgumentException(
          source
              + ", line "
              + line(at)
              + ", column "
              + (at - text.lastIndexOf('\n', at - 1))
              + ": \""
              + given.strip()
              + "\": "
              + needed);
    }
  }
}
