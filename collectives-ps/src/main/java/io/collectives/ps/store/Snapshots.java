package io.collectives.ps.store;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A server's snapshots in a directory, which servers may share. A snapshot is a file for each part;
 * it is named by its clock and the number of parts.
 */
final class Snapshots {
  private static final Pattern NAME =
      Pattern.compile("step-(\\d{1,15})\\.part-(\\d{1,5})-of-(\\d{1,5})\\.parameters");
  private static final String TEMPORARY = ".tmp";

  /** How many servers there may be, for {@link Found}. */
  private static final int MOST_PARTS = 1 << 16;

  /** So many of its newest snapshots a server tells the others of. */
  private static final int TOLD = 16;

  private static final long NOTHING = -1;

  private final Path directory;
  private final Shard shard;

  Snapshots(Path directory, Shard shard) {
    this.directory = directory;
    this.shard = shard;
  }

  /**
   * Makes the directory, if there is none. What another job has left there would be restored
   * instead of what this one writes.
   */
  void open() {
    try {
      Files.createDirectories(directory);
      if (shard.needsWeights() && shard.written == NOTHING && !files(directory).isEmpty()) {
        throw new SnapshotException(
            directory
                + " has snapshots of another job: restore(directory) before serving, to go on with"
                + " that, or name another directory");
      }
    } catch (IOException e) {
      throw new SnapshotException(
          "no snapshots can be written to "
              + directory
              + ": "
              + e
              + "; name a directory that can"
              + " be made and written to",
          e);
    }
  }

  /**
   * Writes this server's part, unless it has done so at this clock.
   *
   * @param complete the clock of a snapshot that all servers have written; older ones of this
   *     server are deleted
   */
  void write(long clock, long complete) {
    if (clock == shard.written) {
      return;
    }
    Path file = directory.resolve(name(clock, shard.part, shard.parts));
    try {
      delete(complete);
      SnapshotFile.write(
          file,
          directory.resolve(file.getFileName() + TEMPORARY),
          shard,
          new SnapshotFile.Head(
              Objects.requireNonNull(shard.model),
              shard.part,
              shard.parts,
              clock,
              shard.updates,
              Objects.requireNonNull(shard.optimizer),
              shard.state.length));
      shard.written = clock;
    } catch (IOException e) {
      throw new SnapshotException("snapshot " + file + " cannot be written: " + e, e);
    }
  }

  private static String name(long clock, int part, int parts) {
    return String.format("step-%012d.part-%d-of-%d.parameters", clock, part, parts);
  }

  /** Deletes what is older, and what a server that was killed has left half written. */
  private void delete(long complete) throws IOException {
    for (Found found : files(directory)) {
      if (found.isOf(shard) && (found.isHalf || found.clock < complete)) {
        Files.deleteIfExists(directory.resolve(found.name));
      }
    }
  }

  /** What lies in a directory; nothing if there is none. */
  private static List<Found> files(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .map(file -> Found.of(String.valueOf(file.getFileName())))
          .filter(Objects::nonNull)
          .toList();
    }
  }

  /**
   * A file.
   *
   * @param isHalf whether it is not under its name yet
   */
  private record Found(String name, long clock, int part, int parts, boolean isHalf) {
    static @Nullable Found of(String name) {
      boolean isHalf = name.endsWith(TEMPORARY);
      Matcher match =
          NAME.matcher(isHalf ? name.substring(0, name.length() - TEMPORARY.length()) : name);
      if (!match.matches()) {
        return null;
      }
      int parts = Integer.parseInt(match.group(3));
      int part = Integer.parseInt(match.group(2));
      return part < parts && parts < MOST_PARTS
          ? new Found(name, Long.parseLong(match.group(1)), part, parts, isHalf)
          : null;
    }

    boolean isOf(Shard shard) {
      return part == shard.part && parts == shard.parts;
    }

    /** All files of a snapshot have the same, newer ones a higher one. */
    long snapshot() {
      return clock * MOST_PARTS + parts;
    }
  }

  /**
   * Reads the newest snapshot that all servers have what they need of. If as many servers wrote it,
   * each needs its own part only; else all parts.
   *
   * @param servers all of them call this
   * @return whether there is any; if none has a file, nothing has happened
   * @throws SnapshotException on all servers, if one cannot restore
   */
  static boolean restore(Path directory, Communicator servers, Shard shard) {
    SnapshotException error = null;
    long[] mine = new long[TOLD];
    try {
      mine = candidates(directory, shard);
    } catch (SnapshotException e) {
      error = e;
    }
    agree(servers, error);
    long[] all = new long[TOLD * servers.size()];
    servers.allGather(Payload.of(mine), Payload.of(all));
    if (Arrays.stream(all).allMatch(found -> found == NOTHING)) {
      return false;
    }
    long chosen =
        Arrays.stream(mine)
            .filter(found -> found != NOTHING && onAll(all, found, servers.size()))
            .max()
            .orElse(NOTHING);
    if (chosen == NOTHING) {
      throw nothingInCommon(directory, servers, all);
    }
    try {
      read(directory, chosen / MOST_PARTS, (int) (chosen % MOST_PARTS), shard);
      forgetNewer(directory, shard);
    } catch (SnapshotException e) {
      error = e;
    }
    agree(servers, error);
    return true;
  }

  /**
   * Not all servers have written what is newer than the snapshot that was restored; it must not
   * become whole with parts that they will write when they come to its clock again.
   */
  private static void forgetNewer(Path directory, Shard shard) {
    try {
      for (Found found : files(directory)) {
        if (found.isOf(shard) && found.clock > shard.clock) {
          Files.deleteIfExists(directory.resolve(found.name));
        }
      }
    } catch (IOException e) {
      throw new SnapshotException(
          "snapshots in " + directory + " after step " + shard.clock + " cannot be deleted: " + e,
          e);
    }
  }

  private static boolean onAll(long[] all, long wanted, int servers) {
    for (int server = 0; server < servers; server++) {
      if (LongStream.of(all).skip((long) server * TOLD).limit(TOLD).noneMatch(s -> s == wanted)) {
        return false;
      }
    }
    return true;
  }

  private static SnapshotException nothingInCommon(
      Path directory, Communicator servers, long[] all) {
    StringBuilder text =
        new StringBuilder("no snapshot in " + directory + " can be restored by all servers:");
    for (int server = 0; server < servers.size(); server++) {
      text.append(server == 0 ? " rank " : ", rank ").append(servers.worldRank(server));
      String has =
          String.join(
              ", ",
              LongStream.of(all)
                  .skip((long) server * TOLD)
                  .limit(TOLD)
                  .filter(found -> found != NOTHING)
                  .mapToObj(s -> s / MOST_PARTS + " of " + s % MOST_PARTS + " parts")
                  .toList());
      text.append(" has ").append(has.isEmpty() ? "none" : "steps " + has);
    }
    return new SnapshotException(
        text
            + "; with another number of servers each needs all parts: put them into one directory");
  }

  /** The snapshots of which a server has what it needs, newest first. */
  private static long[] candidates(Path directory, Shard shard) {
    Map<Long, BitSet> parts = new TreeMap<>(Comparator.reverseOrder());
    try {
      for (Found found : files(directory)) {
        if (!found.isHalf) {
          parts.computeIfAbsent(found.snapshot(), key -> new BitSet()).set(found.part);
        }
      }
    } catch (IOException e) {
      throw new SnapshotException("snapshots in " + directory + " cannot be read: " + e, e);
    }
    long[] usable =
        parts.entrySet().stream()
            .filter(
                entry -> {
                  int count = (int) (entry.getKey() % MOST_PARTS);
                  return count == shard.parts
                      ? entry.getValue().get(shard.part)
                      : entry.getValue().cardinality() == count;
                })
            .mapToLong(Map.Entry::getKey)
            .limit(TOLD)
            .toArray();
    int length = usable.length;
    long[] told = Arrays.copyOf(usable, TOLD);
    Arrays.fill(told, length, TOLD, NOTHING);
    return told;
  }

  /** Throws on all servers if there is an error on one. */
  private static void agree(Communicator servers, @Nullable SnapshotException error) {
    int[] failed = {error == null ? 0 : servers.worldRank(servers.rank()) + 1};
    servers.allReduce(failed, ReduceOp.MAX);
    if (error != null) {
      throw error;
    }
    if (failed[0] != 0) {
      throw new SnapshotException(
          "server rank " + (failed[0] - 1) + " cannot restore its part: its own error says why");
    }
  }

  private static void read(Path directory, long clock, int parts, Shard shard) {
    SnapshotFile.Head first = null;
    long updates = 0;
    for (int part = 0; part < parts; part++) {
      if (parts == shard.parts && part != shard.part) {
        continue;
      }
      Path file = directory.resolve(name(clock, part, parts));
      SnapshotFile.Head head = SnapshotFile.head(file);
      if (head.part() != part || head.parts() != parts || head.clock() != clock) {
        throw new SnapshotException(
            file
                + " is part "
                + head.part()
                + " of "
                + head.parts()
                + " at step "
                + head.clock()
                + ", not what its name says: give it its own name back");
      }
      if (first == null) {
        first = head;
        shard.allocate(head.model(), head.optimizer(), head.stateCount());
      } else if (!first.model().equals(head.model())
          || !first.optimizer().equals(head.optimizer())
          || first.stateCount() != head.stateCount()) {
        throw new SnapshotException(
            file
                + " is of another job ("
                + head.model()
                + ", "
                + head.optimizer()
                + ") than part "
                + first.part()
                + " of the same step ("
                + first.model()
                + ", "
                + first.optimizer()
                + "): keep the snapshots of each job in a directory of their own");
      }
      SnapshotFile.read(file, shard);
      updates = Math.max(updates, head.updates());
    }
    shard.updates = updates;
    shard.clock = clock;
    shard.isRestored = true;
  }
}
