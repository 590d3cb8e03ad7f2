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
 * A server's checkpoints in a directory, which servers may share. A checkpoint is a file for each
 * part; it is named by its clock and the number of parts.
 */
final class Checkpoints {
  private static final Pattern NAME =
      Pattern.compile("step-(\\d{1,15})\\.part-(\\d{1,5})-of-(\\d{1,5})\\.parameters");
  private static final String TEMPORARY = ".tmp";

  /** The largest number of servers, which {@link Found} needs. */
  private static final int MOST_PARTS = 1 << 16;

  /** The number of its newest checkpoints that a server names to the others. */
  private static final int TOLD = 16;

  private static final long NOTHING = -1;

  private final Path directory;
  private final Shard shard;

  Checkpoints(Path directory, Shard shard) {
    this.directory = directory;
    this.shard = shard;
  }

  /**
   * Makes the directory, if there is none. Fails if it has checkpoints of another job, which would
   * be restored instead of those of this one.
   */
  void open() {
    try {
      Files.createDirectories(directory);
      if (shard.needsWeights() && shard.written == NOTHING && !files(directory).isEmpty()) {
        throw new CheckpointException(
            directory
                + " has checkpoints of another job: restore(directory) before serving, to go on"
                + " with that, or name another directory");
      }
    } catch (IOException e) {
      throw new CheckpointException(
          "no checkpoints can be written to "
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
   * @param complete the clock of a checkpoint that all servers have written; older ones of this
   *     server are deleted
   */
  void write(long clock, long complete) {
    if (clock == shard.written) {
      return;
    }
    Path file = directory.resolve(name(clock, shard.part, shard.parts));
    try {
      delete(complete);
      CheckpointFile.write(
          file,
          directory.resolve(file.getFileName() + TEMPORARY),
          shard,
          new CheckpointFile.Head(
              Objects.requireNonNull(shard.model),
              shard.part,
              shard.parts,
              clock,
              shard.updates,
              Objects.requireNonNull(shard.optimizer),
              shard.state.length));
      shard.written = clock;
    } catch (IOException e) {
      throw new CheckpointException("checkpoint " + file + " cannot be written: " + e, e);
    }
  }

  private static String name(long clock, int part, int parts) {
    return String.format("step-%012d.part-%d-of-%d.parameters", clock, part, parts);
  }

  /** Deletes older files, and those that a killed server has left half written. */
  private void delete(long complete) throws IOException {
    for (Found found : files(directory)) {
      if (found.isOf(shard) && (found.isHalf || found.clock < complete)) {
        Files.deleteIfExists(directory.resolve(found.name));
      }
    }
  }

  /** Returns the files of checkpoints in a directory; none if it does not exist. */
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
   * A file of a checkpoint.
   *
   * @param isHalf whether it still has its temporary name
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

    /**
     * Returns a number that is the same for all files of a checkpoint, and higher for newer ones.
     */
    long checkpoint() {
      return clock * MOST_PARTS + parts;
    }
  }

  /**
   * Reads the newest checkpoint of which all servers have the files that they need. If the same
   * number of servers wrote it, each needs only its own part; otherwise all parts.
   *
   * @param servers the group of the servers; all of them call this
   * @return whether there is a checkpoint; if no server has a file, nothing has changed
   * @throws CheckpointException on all servers, if one cannot restore
   */
  static boolean restore(Path directory, Communicator servers, Shard shard) {
    CheckpointException error = null;
    long[] mine = new long[TOLD];
    try {
      mine = candidates(directory, shard);
    } catch (CheckpointException e) {
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
    } catch (CheckpointException e) {
      error = e;
    }
    agree(servers, error);
    return true;
  }

  /**
   * Deletes files that are newer than the restored checkpoint. Not all servers have written them,
   * and they must not form a checkpoint with the parts that servers will write when they reach its
   * clock again.
   */
  private static void forgetNewer(Path directory, Shard shard) {
    try {
      for (Found found : files(directory)) {
        if (found.isOf(shard) && found.clock > shard.clock) {
          Files.deleteIfExists(directory.resolve(found.name));
        }
      }
    } catch (IOException e) {
      throw new CheckpointException(
          "checkpoints in " + directory + " after step " + shard.clock + " cannot be deleted: " + e,
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

  private static CheckpointException nothingInCommon(
      Path directory, Communicator servers, long[] all) {
    StringBuilder text =
        new StringBuilder("no checkpoint in " + directory + " can be restored by all servers:");
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
    return new CheckpointException(
        text
            + "; with another number of servers each needs all parts: put them into one directory");
  }

  /** Returns the checkpoints of which a server has the files that it needs, newest first. */
  private static long[] candidates(Path directory, Shard shard) {
    Map<Long, BitSet> parts = new TreeMap<>(Comparator.reverseOrder());
    try {
      for (Found found : files(directory)) {
        if (!found.isHalf) {
          parts.computeIfAbsent(found.checkpoint(), key -> new BitSet()).set(found.part);
        }
      }
    } catch (IOException e) {
      throw new CheckpointException("checkpoints in " + directory + " cannot be read: " + e, e);
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
  private static void agree(Communicator servers, @Nullable CheckpointException error) {
    int[] failed = {error == null ? 0 : servers.worldRank(servers.rank()) + 1};
    servers.allReduce(failed, ReduceOp.MAX);
    if (error != null) {
      throw error;
    }
    if (failed[0] != 0) {
      throw new CheckpointException(
          "server rank " + (failed[0] - 1) + " cannot restore its part: its own error says why");
    }
  }

  private static void read(Path directory, long clock, int parts, Shard shard) {
    CheckpointFile.Head first = null;
    long updates = 0;
    for (int part = 0; part < parts; part++) {
      if (parts == shard.parts && part != shard.part) {
        continue;
      }
      Path file = directory.resolve(name(clock, part, parts));
      CheckpointFile.Head head = CheckpointFile.head(file);
      if (head.part() != part || head.parts() != parts || head.clock() != clock) {
        throw new CheckpointException(
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
        throw new CheckpointException(
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
                + "): keep the checkpoints of each job in a directory of their own");
      }
      CheckpointFile.read(file, shard);
      updates = Math.max(updates, head.updates());
    }
    shard.updates = updates;
    shard.clock = clock;
    shard.isRestored = true;
  }
}
