package io.collectives.bench.flight;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The flight record of one rank.
 *
 * <p>As text: comment lines that begin with {@code #}, a line of column names, a line for each call
 * with tabs between. Columns are found by their names, so that others may be added. The first
 * comment tells the rank, the job's size, the time, and whether earlier calls are forgotten; of
 * these only the rank must be known, from there or from a call.
 *
 * @param size the number of ranks in the job; empty if it is not told
 * @param atMillis when it was written, since 1970; empty if it is not told
 * @param complete whether it holds all calls since the start
 * @param calls oldest first
 */
public record FlightRecord(
    int rank, OptionalInt size, OptionalLong atMillis, boolean complete, List<FlightCall> calls) {
  /** 256 calls, each with a list of thousands of members, take a few mebibytes. */
  private static final int LONGEST = 64 << 20;

  private static final int MOST_CALLS = 100_000;
  private static final int MOST_MEMBERS = 1 << 20;

  private static final Pattern HEAD =
      Pattern.compile(
          "# flight record of rank (\\d{1,9}) of (\\d{1,9}) at (\\S{1,40}),"
              + " the last (\\d{1,18}) of (\\d{1,18}) calls");

  /** Keeps a copy of the list. */
  public FlightRecord {
    calls = List.copyOf(calls);
  }

  /**
   * Reads a file.
   *
   * @throws IOException if it cannot be read, is too long, or is no flight record; the message
   *     names the file, and the line
   */
  public static FlightRecord read(Path file) throws IOException {
    byte[] bytes;
    try (InputStream in = Files.newInputStream(file)) {
      bytes = in.readNBytes(LONGEST + 1);
    } catch (IOException e) {
      throw new IOException(file + ": cannot be read: " + e, e);
    }
    if (bytes.length > LONGEST) {
      throw new IOException(
          file + ": more than " + (LONGEST >> 20) + " MiB: no flight record is that long");
    }
    try {
      return parse(new String(bytes, StandardCharsets.UTF_8));
    } catch (IllegalArgumentException e) {
      throw new IOException(file + ": no flight record: " + e.getMessage(), e);
    }
  }

  /**
   * Reads the text of one.
   *
   * @throws IllegalArgumentException if it is none; the message names the line
   */
  static FlightRecord parse(String text) {
    OptionalInt rank = OptionalInt.empty();
    OptionalInt size = OptionalInt.empty();
    OptionalLong at = OptionalLong.empty();
    boolean complete = true;
    List<FlightCall> calls = new ArrayList<>();
    List<String> columns = List.of();
    int number = 0;
    for (String line : text.split("\n", -1)) {
      number++;
      if (line.startsWith("#")) {
        Matcher head = HEAD.matcher(line.strip());
        if (rank.isEmpty() && head.matches()) {
          rank = OptionalInt.of(Integer.parseInt(head.group(1)));
          size = OptionalInt.of(Integer.parseInt(head.group(2)));
          at = instant(head.group(3), number);
          complete = head.group(4).equals(head.group(5));
        }
      } else if (columns.isEmpty() && !line.isBlank()) {
        columns = Arrays.asList(line.strip().split("\t"));
      } else if (!line.isBlank()) {
        Row row = new Row(columns, line, number);
        int of = row.rank();
        if (rank.isPresent() && rank.getAsInt() != of) {
          throw row.wrong("rank " + of + " in a record of rank " + rank.getAsInt());
        }
        rank = OptionalInt.of(of);
        if (calls.size() == MOST_CALLS) {
          throw row.wrong("more than " + MOST_CALLS + " calls");
        }
        calls.add(row.call(of));
      }
    }
    if (rank.isEmpty()) {
      throw new IllegalArgumentException(
          "neither a line '# flight record of rank …' nor a call tells whose it is");
    }
    return new FlightRecord(rank.getAsInt(), size, at, complete, calls);
  }

  private static OptionalLong instant(String text, int line) {
    try {
      return OptionalLong.of(Instant.parse(text).toEpochMilli());
    } catch (DateTimeException | ArithmeticException e) {
      throw new IllegalArgumentException("line " + line + ": '" + text + "' is no time", e);
    }
  }

  /** A line with a call. */
  private record Row(List<String> columns, String line, int number) {

    int rank() {
      return (int) number("rank", Integer.MAX_VALUE);
    }

    FlightCall call(int rank) {
      List<Integer> members = members();
      if (!members.contains(rank)) {
        throw wrong("rank " + rank + " is not among members " + cell("members"));
      }
      String group = cell("group");
      if (!group.matches("[0-9a-f]{1,16}")) {
        throw wrong("group '" + shortened(group) + "': must be 1 to 16 hexadecimal digits");
      }
      String state = cell("state");
      if (!List.of("queued", "running", "done", "failed").contains(state)) {
        throw wrong("state '" + shortened(state) + "': must be queued, running, done or failed");
      }
      return new FlightCall(
          group,
          members,
          number("sequence", Long.MAX_VALUE),
          new FlightCall.Operation(
              cell("collective"),
              cell("algorithm"),
              cell("op"),
              cell("type"),
              number("count", Long.MAX_VALUE)),
          new FlightCall.Progress(
              state,
              number("begun", Long.MAX_VALUE),
              cell("ended").isEmpty()
                  ? OptionalLong.empty()
                  : OptionalLong.of(number("ended", Long.MAX_VALUE)),
              cell("detail"),
              optional("awaited").isEmpty()
                  ? OptionalInt.empty()
                  : OptionalInt.of((int) number("awaited", Integer.MAX_VALUE))),
          optional("site"));
    }

    private List<Integer> members() {
      String[] words = cell("members").split(",", MOST_MEMBERS + 1);
      if (words.length > MOST_MEMBERS) {
        throw wrong("more than " + MOST_MEMBERS + " members");
      }
      List<Integer> members = new ArrayList<>();
      for (String word : words) {
        members.add((int) number("members", word, Integer.MAX_VALUE));
      }
      return members;
    }

    /** The cell of a column that a record need not have, empty if it has not. */
    private String optional(String column) {
      return columns.contains(column) ? cell(column) : "";
    }

    private String cell(String column) {
      int index = columns.indexOf(column);
      if (index < 0) {
        throw new IllegalArgumentException(
            "there is no column '" + column + "' among " + shortened(String.join(", ", columns)));
      }
      String[] cells = line.replace("\r", "").split("\t", -1);
      if (cells.length != columns.size()) {
        throw wrong(cells.length + " cells for " + columns.size() + " columns");
      }
      return cells[index];
    }

    private long number(String column, long most) {
      return number(column, cell(column), most);
    }

    private long number(String column, String text, long most) {
      try {
        long number = Long.parseLong(text);
        if (number >= 0 && number <= most) {
          return number;
        }
      } catch (NumberFormatException e) {
        // Said below.
      }
      throw wrong(column + " '" + shortened(text) + "': must be a whole number from 0 to " + most);
    }

    IllegalArgumentException wrong(String why) {
      return new IllegalArgumentException("line " + number + ": " + why);
    }

    private static String shortened(String text) {
      return text.length() <= 80 ? text : text.substring(0, 80) + "…";
    }
  }
}
