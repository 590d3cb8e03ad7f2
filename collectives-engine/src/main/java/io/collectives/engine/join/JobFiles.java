package io.collectives.engine.join;

import static io.collectives.internal.RefusalLog.printable;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The files by which the ranks of a job meet in a directory, as one of these ranks uses them: what
 * they are called, which of them it has made, and what is odd about them. {@link
 * DirectoryRendezvous} tells what they say. Used by the thread that meets.
 */
final class JobFiles {
  private static final String PREFIX = "collectives-";
  private static final int LONGEST_READABLE_NAME = 40;
  private static final int MOST_OTHERS_NAMED = 4;
  private static final int MOST_OTHERS_LOOKED_AT = 64;
  private static final int LONGEST_OTHER = 200;
  private static final Pattern WAITING = Pattern.compile(".*\\.(run|waiting-[0-9]+)");

  private final Path directory;
  private final String job;
  private final String prefix;
  private final Surroundings world;
  private final Map<Path, String> oddities = new TreeMap<>();
  private final List<Path> created = new ArrayList<>();
  private final List<Path> leftBehind = new ArrayList<>();

  /**
   * The files of a job.
   *
   * @param directory where they are
   */
  JobFiles(Surroundings world, Path directory, String job) {
    this.world = world;
    this.directory = directory;
    this.job = job;
    this.prefix = PREFIX + fileName(job);
  }

  // ------------------------------------------------------------------ names

  Path directory() {
    return directory;
  }

  /** Returns the file that names the present run. */
  Path run() {
    return directory.resolve(prefix + ".run");
  }

  Path waiting(int rank) {
    return directory.resolve(prefix + ".waiting-" + rank);
  }

  Path place(String run, int rank) {
    return file(run, "place-" + rank);
  }

  Path beat(String run, int rank) {
    return file(run, "beat-" + rank);
  }

  Path seen(String run) {
    return file(run, "seen");
  }

  Path verdict(String run) {
    return file(run, "verdict");
  }

  Path done(String run, int rank) {
    return file(run, "done-" + rank);
  }

  private Path file(String run, String what) {
    return directory.resolve(prefix + "." + run + "." + what);
  }

  /**
   * A name for files that is readable, and different for different jobs also where case does not
   * count.
   */
  private static String fileName(String job) {
    String readable = job.replaceAll("[^A-Za-z0-9_-]", "_");
    try {
      byte[] hash =
          MessageDigest.getInstance("SHA-256").digest(job.getBytes(StandardCharsets.UTF_8));
      return readable.substring(0, Math.min(readable.length(), LONGEST_READABLE_NAME))
          + "-"
          + HexFormat.of().formatHex(hash, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  // ------------------------------------------------------------------ reading and writing

  /**
   * Reads a file; nothing if it is not there or not a note, which is remembered as long as it is
   * so.
   */
  @Nullable Note read(Path file) {
    Note note = readQuietly(file);
    if (note != null && note.problem() != null) {
      oddities.put(file, note.problem());
      return null;
    }
    oddities.remove(file);
    return note;
  }

  /** Reads a note without remembering anything: it has a problem if the file is no note. */
  @Nullable Note readQuietly(Path file) {
    return Note.read(file, world);
  }

  /** Returns whether there is such a file. */
  boolean exists(Path file) {
    return world.exists(file);
  }

  /** Removes a file, if there is one. */
  void delete(Path file) throws IOException {
    world.delete(file);
  }

  /** Makes a file this note, whatever it was. */
  void replace(Note note, Path file) throws IOException {
    world.replace(file, note.bytes());
  }

  /** Makes a file this note, and returns whether there was none. */
  boolean create(Note note, Path file) throws IOException {
    boolean mine = world.create(file, note.bytes());
    if (mine) {
      created.add(file);
    }
    return mine;
  }

  // ------------------------------------------------------------------ removing

  /** Returns whether the run file named this run, and it was this rank that has removed it. */
  boolean removeRunFile(String run) throws IOException {
    Note present = read(run());
    return present != null && present.text("run").equals(run) && world.delete(run());
  }

  /** All runs that there are files of, by their names. */
  Set<String> runs() throws IOException {
    Set<String> runs = new TreeSet<>();
    for (Path file : world.list(prefix + ".")) {
      String rest = name(file).substring(prefix.length() + 1);
      if (rest.indexOf('.') >= 0) {
        runs.add(rest.substring(0, rest.indexOf('.')));
      }
    }
    return runs;
  }

  /** Removes the files of a run but for its verdict. */
  void removeAllButVerdict(String run) throws IOException {
    for (Path file : world.list(prefix + "." + run + ".")) {
      if (!file.equals(verdict(run))) {
        world.delete(file);
      }
    }
  }

  /** Removes the files of a run, and those of who waited for it. */
  void removeRun(String run) throws IOException {
    for (String which : new String[] {prefix + "." + run + ".", prefix + ".waiting-"}) {
      for (Path file : world.list(which)) {
        world.delete(file);
      }
    }
  }

  private static String name(Path file) {
    return file.getFileName().toString();
  }

  /** Notes a file of this rank that is to be removed when it has met, or not. */
  void leaveBehind(Path file) {
    leftBehind.add(file);
  }

  /** Notes the same of all that this rank has created so far, as it leaves a run for another. */
  void leaveBehindCreated() {
    leftBehind.addAll(created);
    created.clear();
  }

  /** Removes what this rank leaves behind, as far as that can be done. */
  void removeLeftBehind() {
    for (Path file : leftBehind) {
      try {
        world.delete(file);
      } catch (IOException e) {
        // What is left is for the next run to remove, and no reason to spoil this one.
      }
    }
  }

  // ------------------------------------------------------------------ oddities

  /** Remembers what is wrong with a file. */
  void noteOddity(Path file, String problem) {
    oddities.put(file, problem);
  }

  /** Adds what else is odd in the directory, which may be why ranks are missing. */
  String explained(String reason) {
    StringJoiner others =
        new StringJoiner(
            ", ", "; in the same directory waits ", "; ranks of one job must give one name");
    others.setEmptyValue("");
    int named = 0;
    int looked = 0;
    try {
      for (Path file : world.list(PREFIX)) {
        if (named == MOST_OTHERS_NAMED || looked == MOST_OTHERS_LOOKED_AT) {
          break;
        }
        if (!WAITING.matcher(name(file)).matches() || name(file).startsWith(prefix + ".")) {
          continue;
        }
        looked++;
        Note note = readQuietly(file);
        if (note != null
            && note.problem() == null
            && !note.text("job").equals(job)
            && !note.text("job").isEmpty()) {
          named++;
          others.add(
              printable(
                  "job " + note.text("job") + " with " + Announcements.name(Announcements.of(note)),
                  LONGEST_OTHER));
        }
      }
    } catch (IOException e) {
      oddities.put(directory, "cannot be listed: " + e.getMessage());
    }
    StringBuilder text = new StringBuilder(reason);
    oddities.forEach((file, problem) -> text.append("; ").append(file).append(' ').append(problem));
    return text.append(others).toString();
  }
}
