package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Survivors;
import io.collectives.testkit.FreePort;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A process of four real ones is killed in the middle of sums. The others make the lost sums again
 * without it, then take in a process that takes its place, and each has left a flight record.
 */
@Tag("process")
@Timeout(150) // Several share the processors.
@Tag("once")
@Tag("long")
class RecoveredProcessTest {
  private static final int SIZE = 4;

  @TempDir Path directory;

  private final List<Process> processes = new ArrayList<>();

  /**
   * The program of each rank; its arguments are rank, place to meet, directory for flight records,
   * whether it is new.
   */
  static final class Program {
    private static final int COUNT = 5000;
    private static final int UNDER_WAY = 4;
    private static final int MORE = 20;
    private static final int GROWN = 1_000_000;

    private final int rank;
    private final Deque<CollectiveHandle> handles = new ArrayDeque<>();
    private final Deque<long[]> outputs = new ArrayDeque<>();

    private Program(int rank) {
      this.rank = rank;
    }

    public static void main(String[] arguments) {
      int rank = Integer.parseInt(arguments[0]);
      CallSettings calls =
          CallSettings.defaults()
              .withFrameLength(4096)
              .withSilenceLimit(Duration.ofSeconds(20))
              .withFlightDirectory(Path.of(arguments[2]));
      JobSettings job = JobSettings.of(rank, SIZE, URI.create(arguments[1])).withCalls(calls);
      Program program = new Program(rank);
      Communicator world = Collectives.join(job);
      boolean isNew = arguments[3].equals("new");
      try (Communicator full = isNew ? world : program.untilItIsFullAgain(world)) {
        program.sums(full, GROWN, GROWN + MORE);
        System.out.println("grown to " + full.size() + " as " + full.rank() + ".");
        full.barrier();
      }
    }

    private Communicator untilItIsFullAgain(Communicator world) {
      try {
        sums(world, 0, GROWN);
        throw new IllegalStateException("nobody was lost");
      } catch (RankFailedException e) {
        System.out.println("lost rank " + e.worldRank() + ", " + e.verdict() + ".");
      }
      Survivors survivors = world.shrink();
      int resumeAt = (int) survivors.resumeAt();
      sums(survivors.group(), resumeAt, resumeAt + MORE);
      System.out.println(
          "went on at "
              + resumeAt
              + " with "
              + survivors.group().size()
              + ", lost "
              + survivors.lost()
              + ".");
      return survivors.group().grow();
    }

    /** Sums the payloads of these numbers, several at once; every element must be right. */
    private void sums(Communicator group, int from, int to) {
      handles.clear();
      outputs.clear();
      for (int payload = from; payload < to; payload++) {
        long[] input = new long[COUNT];
        int number = payload;
        Arrays.setAll(input, i -> value(rank, number, i));
        long[] output = new long[COUNT];
        outputs.add(output);
        handles.add(group.async().allReduce(Payload.of(input), Payload.of(output), ReduceOp.SUM));
        if (handles.size() == UNDER_WAY) {
          finish(group, payload - UNDER_WAY + 1);
        }
        if (payload == 50) {
          System.out.println("summing.");
        }
      }
      while (!handles.isEmpty()) {
        finish(group, to - handles.size());
      }
    }

    private void finish(Communicator group, int payload) {
      handles.remove().await();
      long[] output = outputs.remove();
      for (int i = 0; i < COUNT; i++) {
        long expected = 0;
        for (int member = 0; member < group.size(); member++) {
          expected += value(group.worldRank(member), payload, i);
        }
        if (output[i] != expected) {
          throw new CollectiveException(
              "payload " + payload + "[" + i + "]: " + output[i] + " instead of " + expected);
        }
      }
    }

    private static long value(int rank, int payload, int index) {
      return (rank + 1) * 1_000_000_007L + payload * 10_007L + index;
    }
  }

  @AfterEach
  void endAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @ParameterizedTest
  @CsvSource({"2, directory", "0, port"})
  void theOthersGoOnAndTakeInAnother(int victim, String kind) throws Exception {
    URI place =
        kind.equals("port")
            ? URI.create("tcp://localhost:" + FreePort.find())
            : Files.createDirectory(directory.resolve("rendezvous")).toUri();
    for (int rank = 0; rank < SIZE; rank++) {
      processes.add(start(rank, place, "old"));
    }
    for (int rank = 0; rank < SIZE; rank++) {
      await(rank, "old", "summing.");
    }
    processes.get(victim).destroyForcibly();
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != victim) {
        await(rank, "old", "with 3, lost [" + victim + "].");
      }
    }
    processes.get(victim).waitFor();
    processes.set(victim, start(victim, place, "new"));
    for (int rank = 0; rank < SIZE; rank++) {
      String age = rank == victim ? "new" : "old";
      assertTrue(processes.get(rank).waitFor(90, TimeUnit.SECONDS), "rank " + rank + " hangs");
      String text = Files.readString(output(rank, age));
      assertEquals(0, processes.get(rank).exitValue(), text);
      assertTrue(text.contains("grown to 4 as " + rank + "."), text);
      Path record = directory.resolve("flights").resolve("flight-rank-" + rank + ".tsv");
      if (rank == victim) {
        assertFalse(Files.exists(record));
      } else {
        assertTrue(text.contains("lost rank " + victim + ", DEAD."), text);
        assertNames(Files.readString(record), rank, victim);
      }
    }
    assertEquals(1, resumedAt(victim), "they agree on where to go on");
  }

  /** The record tells of a call of all four that failed because of the victim. */
  private static void assertNames(String record, int rank, int victim) {
    assertTrue(record.startsWith("# flight record of rank " + rank + " of 4 "), record);
    assertTrue(
        record
            .lines()
            .anyMatch(
                line ->
                    line.contains("\t0,1,2,3\t")
                        && line.contains("\tfailed\t")
                        && line.contains("rank " + victim + " ")),
        record);
  }

  private long resumedAt(int victim) throws IOException {
    List<String> places = new ArrayList<>();
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != victim) {
        String text = Files.readString(output(rank, "old"));
        places.add(text.replaceFirst("(?s).*went on at (\\d+) .*", "$1"));
      }
    }
    return places.stream().distinct().count();
  }

  private void await(int rank, String age, String text) {
    Path output = output(rank, age);
    Awaitility.await()
        .atMost(Duration.ofSeconds(90))
        .until(
            () -> {
              assertTrue(
                  processes.get(rank).isAlive() || Files.readString(output).contains(text),
                  () -> read(output));
              return Files.readString(output).contains(text);
            });
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private Path output(int rank, String age) {
    return directory.resolve(age + "-rank-" + rank + ".txt");
  }

  private Process start(int rank, URI place, String age) throws IOException {
    return JavaProcess.of(
            output(rank, age),
            Program.class,
            "" + rank,
            place.toString(),
            directory.resolve("flights").toString(),
            age)
        .start();
  }
}
