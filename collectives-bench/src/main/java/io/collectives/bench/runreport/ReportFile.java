package io.collectives.bench.runreport;

import io.collectives.bench.runreport.RankReport.Buffer;
import io.collectives.bench.runreport.RankReport.CallKind;
import io.collectives.bench.runreport.RankReport.Calls;
import io.collectives.bench.runreport.RankReport.Choice;
import io.collectives.bench.runreport.RankReport.Interval;
import io.collectives.bench.runreport.RankReport.Job;
import io.collectives.bench.runreport.RankReport.Machine;
import io.collectives.bench.runreport.RankReport.Parts;
import io.collectives.bench.runreport.RankReport.Reducer;
import io.collectives.bench.runreport.RankReport.Step;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads the report of one rank: lines of a word that says what they are and cells with tabs
 * between, of which the last is {@code end}. Words that are not known are passed over, so that
 * later versions may add some; what is known must be right.
 */
final class ReportFile {
  private static final int LONGEST = 64 << 20;
  private static final int MOST_RANKS = 1 << 20;
  private static final int MOST_LINES = 1 << 20;
  private static final int MOST_BUFFERS = 1 << 16;
  private static final int VERSION = 1;

  private @Nullable Job job;
  private List<String> transports = List.of();
  private long libraryBytes;
  private long heapBytes;
  private long gcMillis;
  private long collections;
  private final List<String> failures = new ArrayList<>();
  private final List<Calls> calls = new ArrayList<>();
  private final List<Choice> choices = new ArrayList<>();
  private final NavigableMap<Integer, Reducer> reducers = new TreeMap<>();

  private ReportFile() {}

  /**
   * Reads a file.
   *
   * @throws IOException if it cannot be read, is too long, or is no whole report; the message names
   *     the file, and the line
   */
  static RankReport read(Path file) throws IOException {
    byte[] bytes;
    try (InputStream in = Files.newInputStream(file)) {
      bytes = in.readNBytes(LONGEST + 1);
    } catch (IOException e) {
      throw new IOException(file + ": cannot be read: " + e, e);
    }
    if (bytes.length > LONGEST) {
      throw new IOException(file + ": more than " + (LONGEST >> 20) + " MiB: no report is so long");
    }
    try {
      return new ReportFile().parse(new String(bytes, StandardCharsets.UTF_8));
    } catch (IllegalArgumentException e) {
      throw new IOException(file + ": no report of a run: " + e.getMessage(), e);
    }
  }

  private RankReport parse(String text) {
    boolean hasEnded = false;
    int number = 0;
    for (String line : (Iterable<String>) text.lines()::iterator) {
      number++;
      if (number > MOST_LINES) {
        throw new IllegalArgumentException("more than " + MOST_LINES + " lines");
      }
      Cells cells = new Cells(number, line.split("\t", -1));
      if (hasEnded) {
        throw cells.wrong("there is more behind the line 'end'");
      }
      if (number == 1 && !(cells.is("collectives-report") && cells.number(1, 99) == VERSION)) {
        throw cells.wrong("it does not begin with 'collectives-report' and the version 1");
      }
      hasEnded = cells.is("end");
      take(cells);
    }
    Job known = job;
    if (!hasEnded || known == null) {
      throw new IllegalArgumentException(
          "it is cut off after line " + number + ", the last line must be 'end': copy it again");
    }
    return new RankReport(
        known,
        new Machine(transports, libraryBytes, heapBytes, gcMillis, collections),
        failures,
        calls,
        choices,
        reducers);
  }

  private void take(Cells cells) {
    switch (cells.word()) {
      case "job" -> {
        int size = (int) cells.number(2, MOST_RANKS);
        job =
            new Job(
                (int) cells.number(1, size - 1L),
                size,
                cells.text(3),
                cells.number(4),
                cells.number(5),
                cells.text(6).equals("true"));
      }
      case "transports" -> transports = List.of(cells.text(1).split(","));
      case "memory" -> {
        libraryBytes = cells.number(1);
        heapBytes = cells.number(2);
      }
      case "gc" -> {
        gcMillis = cells.number(1);
        collections = cells.number(2);
      }
      case "failure" -> failures.add(cells.text(1));
      case "calls" ->
          calls.add(
              new Calls(
                  new CallKind(cells.text(1), cells.text(2), cells.text(3), cells.number(4)),
                  cells.number(5),
                  cells.number(6),
                  cells.number(7),
                  cells.number(8),
                  cells.number(9)));
      case "auto" ->
          choices.add(new Choice(cells.number(1), cells.text(2), cells.text(3), cells.text(4)));
      case "reducer" -> {
        Reducer reducer =
            new Reducer(cells.number(2), new ArrayList<>(), new ArrayList<>(), new TreeMap<>());
        reducers.put((int) cells.number(1, 1 << 20), reducer);
      }
      case "buffer" ->
          reducer(cells)
              .buffers()
              .add(
                  new Buffer(
                      (int) cells.number(3, MOST_BUFFERS),
                      cells.number(4),
                      cells.number(5),
                      cells.text(6)));
      case "interval" -> reducer(cells).intervals().add(interval(cells));
      case "step" -> reducer(cells).kept().put(cells.number(2), step(cells));
      default -> {
        // The first and the last line, and words of later versions.
      }
    }
  }

  private Reducer reducer(Cells cells) {
    Reducer reducer = reducers.get((int) cells.number(1, 1 << 20));
    if (reducer == null) {
      throw cells.wrong("reducer " + cells.text(1) + " is not known");
    }
    return reducer;
  }

  private static Interval interval(Cells cells) {
    return new Interval(
        cells.number(2),
        cells.number(3),
        cells.number(4),
        new Parts(
            cells.number(5), cells.number(6), cells.number(7), cells.number(8), cells.number(9)),
        cells.number(10),
        cells.number(11),
        cells.decimal(12));
  }

  private static Step step(Cells cells) {
    String text = cells.text(9);
    String[] buffers = text.isEmpty() ? new String[0] : text.split(";", MOST_BUFFERS);
    long[] times = new long[4 * buffers.length];
    for (int i = 0; i < buffers.length; i++) {
      String[] moments = buffers[i].split(",", 5);
      if (moments.length != 4) {
        throw cells.wrong("buffer " + i + " has " + moments.length + " times, not 4");
      }
      for (int j = 0; j < 4; j++) {
        times[4 * i + j] = cells.number(moments[j], Long.MIN_VALUE, Long.MAX_VALUE);
      }
    }
    return new Step(
        cells.number(4),
        cells.number(5),
        cells.number(6),
        cells.number(7),
        cells.decimal(8),
        times);
  }

  /** The cells of a line. */
  private record Cells(int line, String[] cells) {
    String word() {
      return cells[0];
    }

    boolean is(String word) {
      return cells[0].equals(word);
    }

    String text(int index) {
      if (index >= cells.length) {
        throw wrong("a line '" + shortened(cells[0]) + "' of " + cells.length + " cells");
      }
      return cells[index];
    }

    long number(int index) {
      return number(index, Long.MAX_VALUE);
    }

    long number(int index, long most) {
      return number(text(index), 0, most);
    }

    long number(String text, long least, long most) {
      try {
        long number = Long.parseLong(text);
        if (number >= least && number <= most) {
          return number;
        }
      } catch (NumberFormatException e) {
        // Said below.
      }
      throw wrong("'" + shortened(text) + "': must be a whole number of at most " + most);
    }

    double decimal(int index) {
      try {
        return Double.parseDouble(text(index));
      } catch (NumberFormatException e) {
        throw wrong("'" + shortened(text(index)) + "': must be a number");
      }
    }

    IllegalArgumentException wrong(String why) {
      return new IllegalArgumentException("line " + line + ": " + why);
    }

    private static String shortened(String text) {
      return text.length() <= 80 ? text : text.substring(0, 80) + "…";
    }
  }
}
