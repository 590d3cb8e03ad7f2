package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.collectives.Algorithm;
import io.collectives.CollectiveBuffer;
import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.JobSettings;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Somebody truncates a file that processes have mapped and deleted, while they sum: all get the
 * error that names the rank and says so, and the processes live and meet again. On JDK 17 a program
 * may meet the error of a buffer's memory itself, with a wrong sum before. Needs root, to get hold
 * of such files; {@code -Dcollectives.truncations=200} for more than one round of each manner.
 */
@Tag("process")
class TruncatedMemoryTest {
  private static final int SIZE = 3;
  private static final int ROUNDS = Integer.getInteger("collectives.truncations", 6);

  @TempDir Path directory;

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);
  private final List<Process> processes = new ArrayList<>();

  /** The payloads that are summed in a round. */
  private enum Manner {
    FRAMES,
    CHECKSUMS,
    MAIL,
    EXCHANGE_BUFFERS,
    STAGES,
    BUFFERS,
    RINGS_BESIDE_BUFFERS;

    boolean hasBuffers() {
      return this == BUFFERS || this == RINGS_BESIDE_BUFFERS;
    }

    /** Returns whether the file of a region is truncated, else one of rings. */
    boolean losesRegion() {
      return this == BUFFERS || this == STAGES || this == EXCHANGE_BUFFERS;
    }

    /** Returns whether the program may: no page of a buffer tells whether it was there. */
    boolean mayMeetErrors() {
      return this == BUFFERS && Runtime.version().feature() < 19;
    }

    /** Returns the number of elements: more than 256 KiB take frames. */
    int count() {
      return switch (this) {
        case MAIL -> 16;
        case EXCHANGE_BUFFERS -> 20_000;
        default -> 70_000;
      };
    }

    static Manner of(int round) {
      return values()[round % values().length];
    }
  }

  /** The program of each rank: a job in each round, which lasts until it fails. */
  static final class Program {
    public static void main(String[] arguments) {
      Path rendezvous = Path.of(arguments[0]);
      int rounds = Integer.parseInt(arguments[1]);
      for (int round = 0; round < rounds; round++) {
        Manner manner = Manner.of(round);
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.put(
            "COLLECTIVES_RENDEZVOUS", rendezvous.resolve("" + round).toUri().toString());
        environment.put("COLLECTIVES_MEMORY_DIRECTORY", arguments[2] + "/" + round);
        environment.put("COLLECTIVES_CHECKSUMS", "" + (manner == Manner.CHECKSUMS));
        JobSettings job = Collectives.settings(environment);
        try (Communicator world = Collectives.join(job)) {
          sum(world, manner, round);
        } catch (RankFailedException e) {
          say(round, "lost rank " + e.worldRank() + ": " + e.getMessage());
        } catch (CollectiveException e) {
          say(round, e.toString());
        } catch (InternalError e) {
          if (!manner.mayMeetErrors()) {
            throw e;
          }
          say(round, "lost rank, is told late that a file was truncated: " + e);
        }
      }
      System.out.println("done");
    }

    private static void sum(Communicator world, Manner manner, int round) {
      int count = manner.count();
      float[] sums = new float[count];
      float[] mine = new float[count];
      Arrays.fill(mine, world.rank() + 1);
      CollectiveBuffer buffer =
          manner.hasBuffers() ? world.allocate(ElementType.FLOAT32, count) : null;
      if (buffer != null) {
        buffer.floats().put(mine);
      }
      Payload input = buffer == null ? Payload.of(mine) : buffer.payload();
      Communicator other =
          manner == Manner.EXCHANGE_BUFFERS ? world.using(Algorithm.exchange()) : world;
      for (int step = 0; ; step++) {
        (step % 2 == 0 ? world : other).allReduce(input, Payload.of(sums), ReduceOp.SUM);
        for (float sum : sums) {
          if (sum != SIZE * (SIZE + 1) / 2 && !manner.mayMeetErrors()) {
            say(round, "WRONG SUM " + sum + " in step " + step);
            break;
          }
        }
        if (step == 5) {
          say(round, "sums");
        }
      }
    }

    private static void say(int round, String what) {
      System.out.println("round " + round + " " + what);
    }
  }

  @AfterEach
  void endAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  @Timeout(600)
  void allGetTheErrorAndLive() throws Exception {
    boolean possible = Files.isDirectory(Path.of("/proc/self/map_files")) && mayOpenMappedFiles();
    if (!possible) {
      System.err.println("SKIPPED: TruncatedMemoryTest needs root on Linux to find mapped files");
    }
    Assumptions.assumeTrue(possible, "needs root on Linux to find mapped files");
    Path rendezvous = Files.createDirectory(directory.resolve("rendezvous"));
    Path memory = Files.createTempDirectory(Path.of("/dev/shm"), "cut-");
    try {
      for (int round = 0; round < ROUNDS; round++) {
        Files.createDirectory(rendezvous.resolve("" + round));
        Files.createDirectory(memory.resolve("" + round));
      }
      for (int rank = 0; rank < SIZE; rank++) {
        ProcessBuilder builder =
            JavaProcess.of(
                file(rank), Program.class, rendezvous.toString(), "" + ROUNDS, memory.toString());
        builder.environment().put("RANK", "" + rank);
        builder.environment().put("WORLD_SIZE", "" + SIZE);
        builder.environment().put("COLLECTIVES_TRANSPORT", "shm");
        processes.add(builder.start());
      }
      for (int round = 0; round < ROUNDS; round++) {
        int now = round;
        awaitAll("round " + now + " sums");
        truncateOne(round);
        awaitAll("truncated", "round " + now + " lost rank", now);
      }
      awaitAll("done");
      try (Stream<Path> left = Files.walk(memory)) {
        assertEquals(ROUNDS + 1, left.count(), "something is left in " + memory);
      }
    } finally {
      endAll();
      delete(memory);
    }
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> all = Files.walk(directory)) {
      for (Path file : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private static boolean mayOpenMappedFiles() {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/map_files"))) {
      return Files.isReadable(files.findFirst().orElseThrow().toRealPath());
    } catch (IOException | RuntimeException e) {
      return false;
    }
  }

  private void truncateOne(int round) throws IOException {
    String name = Manner.of(round).losesRegion() ? "/region-" : "/rings-";
    Path maps = Path.of("/proc", "" + processes.get(random.nextInt(SIZE)).pid(), "map_files");
    List<Path> files = new ArrayList<>();
    try (Stream<Path> all = Files.list(maps)) {
      for (Path file : all.toList()) {
        // A buffer of an earlier round may wait for its owner's garbage collector.
        String target = Files.readSymbolicLink(file).toString();
        if (target.contains("/" + round + "/") && target.contains(name)) {
          files.add(file);
        }
      }
    }
    Path file = files.get(random.nextInt(files.size()));
    for (int i = random.nextInt(200_000); i > 0; i--) {
      Thread.onSpinWait(); // Any moment will do.
    }
    try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
      // Behind the memory there is a page that tells whether it is whole.
      open.setLength(random.nextInt(3) == 0 ? 0 : random.nextLong(open.length() - 4096));
    }
  }

  private void awaitAll(String text) throws IOException {
    awaitAll(text, text, -1);
  }

  private void awaitAll(String text, String line, int round) throws IOException {
    for (int rank = 0; rank < SIZE; rank++) {
      int of = rank;
      try {
        Awaitility.await()
            .atMost(60, TimeUnit.SECONDS)
            .pollInterval(5, TimeUnit.MILLISECONDS)
            .until(() -> hasSaid(of, line, text, round));
      } catch (ConditionTimeoutException e) {
        for (Process process : processes) {
          System.err.println(JavaProcess.threads(process));
        }
        fail("rank " + of + " does not say '" + line + "', seed " + seed + ": " + said(of), e);
      }
    }
  }

  /** Returns whether a rank has said a line, and nothing that is wrong. */
  private boolean hasSaid(int rank, String line, String text, int round) throws IOException {
    String said = said(rank);
    assertTrue(processes.get(rank).isAlive() || said.contains("done"), said);
    assertFalse(said.contains("WRONG"), said);
    assertTrue(
        round < 0
            || said.lines()
                .filter(found -> found.startsWith("round " + round + " "))
                .allMatch(found -> found.endsWith(" sums") || found.contains(line)),
        said);
    return said.lines().anyMatch(found -> found.contains(line) && found.contains(text));
  }

  private String said(int rank) throws IOException {
    return Files.readString(file(rank));
  }

  private Path file(int rank) {
    return directory.resolve("rank-" + rank + ".txt");
  }
}
