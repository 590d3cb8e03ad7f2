package io.collectives.bench.timeline;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The trace of one rank, on its own clock, or on that of all after {@link JobTrace} has aligned it.
 *
 * @param size the number of ranks of the job
 * @param wall when it was written, in nanoseconds since 1970, less the rank's clock at that moment
 * @param dropped the number of earlier events that it has lost, and of later marks
 * @param cutOff true if the end of its file is missing
 * @param events in the order of their beginnings
 */
record RankTrace(
    int rank, int size, long wall, Dropped dropped, boolean cutOff, List<TraceEvent> events) {
  /** A trace has 28 MiB of events at most, and 20 MiB of marks. */
  private static final int LONGEST = 128 << 20;

  private static final int MOST_EVENTS = 1 << 20;

  private static final Pattern HEAD =
      Pattern.compile(
          "# trace of rank (\\d{1,9}) of (\\d{1,9}) at (\\S{1,40}) = (-?\\d{1,19}) ns,"
              + " the last (\\d{1,18}) of (\\d{1,18}) events,"
              + " the first (\\d{1,18}) of (\\d{1,18}) marks");

  private static final String COLUMNS =
      "kind\tbegin\tduration\tworked\tgroup\tsequence\tlane\tslab\tround\tchunk\tpeer\tbytes\tname";

  private static final String END = "# end";

  /** The numbers of events and of marks that had no room. */
  record Dropped(long events, long marks) {}

  /** Keeps a copy of the list. */
  RankTrace {
    events = List.copyOf(events);
  }

  /**
   * Reads a file. If it was cut off, what there is of it counts, but for a line that is not whole.
   *
   * @throws IOException if it cannot be read, is too long, or is no trace; the message names the
   *     file, and the line
   */
  static RankTrace read(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      if (Files.size(file) > LONGEST) {
        throw new IOException("more than " + (LONGEST >> 20) + " MiB: no trace is that long");
      }
      return new Reader(in).read();
    } catch (IOException e) {
      throw new IOException(file + ": cannot be read: " + e.getMessage(), e);
    } catch (IllegalArgumentException e) {
      throw new IOException(file + ": no trace: " + e.getMessage(), e);
    }
  }

  /** A file that is being read. */
  private static final class Reader {
    private final BufferedReader in;
    private final Map<String, String> names = new HashMap<>();
    private int number;

    Reader(InputStream in) {
      this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    }

    RankTrace read() throws IOException {
      Matcher head = HEAD.matcher(line());
      if (!head.matches()) {
        throw new IllegalArgumentException("its first line is not '# trace of rank …'");
      }
      int rank = Integer.parseInt(head.group(1));
      int size = Integer.parseInt(head.group(2));
      if (rank >= size) {
        throw new IllegalArgumentException("rank " + rank + " of " + size);
      }
      String columns = line();
      if (!columns.equals(COLUMNS)) {
        throw new IllegalArgumentException("its second line does not name the columns " + COLUMNS);
      }
      List<TraceEvent> events = new ArrayList<>();
      boolean isWhole = false;
      String next = line();
      while (!next.isEmpty() && !isWhole) {
        String line = next;
        next = line();
        isWhole = line.equals(END);
        if (!isWhole) {
          if (events.size() == MOST_EVENTS) {
            throw wrong("more than " + MOST_EVENTS + " events");
          }
          try {
            events.add(event(line.split("\t", -1), size));
          } catch (IllegalArgumentException e) {
            if (!next.isEmpty()) {
              throw e;
            }
            break; // The line at which the file was cut off.
          }
        }
      }
      events.sort((a, b) -> Long.compare(a.begin(), b.begin()));
      long dropped = number(head, 6) - number(head, 5);
      long marks = number(head, 8) - number(head, 7);
      return new RankTrace(rank, size, wall(head), new Dropped(dropped, marks), !isWhole, events);
    }

    /** The next line; an empty one after the last. */
    private String line() throws IOException {
      number++;
      String line = in.readLine();
      return line == null ? "" : line;
    }

    private static long number(Matcher head, int group) {
      return Long.parseLong(head.group(group));
    }

    private static long wall(Matcher head) {
      try {
        Instant at = Instant.parse(head.group(3));
        return at.getEpochSecond() * 1_000_000_000 + at.getNano() - number(head, 4);
      } catch (DateTimeException e) {
        throw new IllegalArgumentException("'" + head.group(3) + "' is no time", e);
      }
    }

    private TraceEvent event(String[] cells, int size) {
      if (cells.length != 13) {
        throw wrong(cells.length + " columns: must be 13");
      }
      TraceEvent.Kind kind;
      try {
        kind = TraceEvent.Kind.valueOf(cells[0].toUpperCase(Locale.ROOT));
      } catch (IllegalArgumentException e) {
        throw wrong("there are no events of the kind '" + shortened(cells[0]) + "'");
      }
      int peer = (int) number(cells, 10, -1, size - 1);
      return new TraceEvent(
          kind,
          new TraceEvent.Span(
              number(cells, 1, Long.MIN_VALUE / 4, Long.MAX_VALUE / 4),
              number(cells, 2, 0, Long.MAX_VALUE / 4),
              number(cells, 3, 0, Long.MAX_VALUE / 4)),
          new TraceEvent.Place(
              group(cells[4]),
              number(cells, 5, 0, Long.MAX_VALUE),
              (int) number(cells, 6, 0, Integer.MAX_VALUE),
              (int) number(cells, 7, 0, Integer.MAX_VALUE),
              (int) number(cells, 8, 0, Integer.MAX_VALUE),
              (int) number(cells, 9, 0, Integer.MAX_VALUE)),
          peer,
          number(cells, 11, 0, Long.MAX_VALUE),
          names.computeIfAbsent(cells[12], name -> name));
    }

    private long group(String text) {
      try {
        return Long.parseUnsignedLong(text, 16);
      } catch (NumberFormatException e) {
        throw wrong("group '" + shortened(text) + "': must be 1 to 16 hexadecimal digits");
      }
    }

    private long number(String[] cells, int column, long least, long most) {
      try {
        long value = Long.parseLong(cells[column]);
        if (value >= least && value <= most) {
          return value;
        }
      } catch (NumberFormatException e) {
        // As a number that is not allowed.
      }
      String name = COLUMNS.split("\t")[column];
      throw wrong(
          name + " '" + shortened(cells[column]) + "': must be from " + least + " to " + most);
    }

    private IllegalArgumentException wrong(String what) {
      return new IllegalArgumentException("line " + (number - 1) + ": " + what);
    }

    private static String shortened(String text) {
      return text.length() > 40 ? text.substring(0, 40) + "…" : text;
    }
  }
}
