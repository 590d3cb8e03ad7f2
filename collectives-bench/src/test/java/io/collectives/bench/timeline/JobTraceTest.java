package io.collectives.bench.timeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("once")
class JobTraceTest {
  private static final int RANKS = 3;
  private static final int CALLS = 7;

  @TempDir private Path directory;

  private static void inThreads(CallSettings settings, Consumer<Communicator> program)
      throws Exception {
    List<Communicator> worlds = Collectives.inProcess(RANKS, settings);
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<?>> ends = new ArrayList<>();
      worlds.forEach(world -> ends.add(threads.submit(() -> program.accept(world))));
      for (Future<?> end : ends) {
        end.get();
      }
    } finally {
      worlds.forEach(Communicator::close);
      threads.shutdown();
    }
  }

  /** Calls of each kind of path: frames of memory, copies, none, several at a time. */
  private static void calls(Communicator world) {
    world.allReduce(new float[10_000], ReduceOp.SUM);
    world.using(Algorithm.direct()).allReduce(new float[10_000], ReduceOp.SUM);
    world.broadcast(new float[5_000], 1);
    world.barrier();
    world.allGather(new float[1_000], new float[1_000 * RANKS]);
    CollectiveHandle first = world.async().allReduce(Payload.of(new int[3]), ReduceOp.SUM);
    CollectiveHandle second = world.async().allReduce(Payload.of(new int[30_000]), ReduceOp.SUM);
    first.await();
    second.await();
  }

  private void trace() throws Exception {
    CallSettings settings =
        CallSettings.defaults()
            .withAlgorithm(Algorithm.ring())
            .withFrameLength(4096)
            .withTraceDirectory(directory);
    inThreads(settings, JobTraceTest::calls);
  }

  @Test
  void everyFrameHasTwoEndsAndEveryRankDoesOneThingAtATime() throws Exception {
    trace();
    JobTrace job = Traces.check(directory, RANKS, CALLS);
    assertTrue(
        job.frames().stream().anyMatch(frame -> frame.received().name().equals("shared memory")));
  }

  /** A trace may begin and end while the job runs, at one rank only. */
  @Test
  void aTraceCanBeginAndEndAtAnyTime() throws Exception {
    inThreads(
        CallSettings.defaults(),
        world -> {
          calls(world);
          if (world.rank() == 1) {
            Trace trace = world.trace(directory);
            assertThrows(IllegalStateException.class, () -> world.trace(directory));
            calls(world);
            trace.close();
            trace.close();
          } else {
            calls(world);
          }
          calls(world);
        });
    JobTrace job = JobTrace.read(directory);
    assertEquals(List.of(1), job.traces().stream().map(RankTrace::rank).toList());
    assertEquals(
        CALLS,
        job.traces().get(0).events().stream().filter(event -> event.kind().isCall()).count());
    assertTrue(
        new Summary(job).findings().contains("The job has 3 ranks; there are traces of 1 of them."),
        new Summary(job).findings()::toString);
  }

  /** The clock of another host may show any time. */
  @Test
  void aClockThatIsAheadIsFound() throws Exception {
    trace();
    long ahead = 5_000_000_000L;
    Path file = directory.resolve("trace-rank-1.tsv");
    Files.writeString(
        file,
        Files.readAllLines(file).stream()
            .map(
                line -> line.startsWith("#") || line.startsWith("kind") ? line : later(line, ahead))
            .collect(Collectors.joining("\n", "", "\n")));
    JobTrace job = Traces.check(directory, RANKS, CALLS);
    long error = job.offsets().error(1);
    assertTrue(error < ahead / 10, () -> "error " + error);
    assertTrue(
        Math.abs(job.offsets().offset(1) - ahead) <= error, () -> "" + job.offsets().offset(1));
    assertTrue(Math.abs(job.offsets().offset(2)) <= job.offsets().error(2));
  }

  private static String later(String line, long nanos) {
    String[] cells = line.split("\t", -1);
    cells[1] = "" + (Long.parseLong(cells[1]) + nanos);
    return String.join("\t", cells);
  }

  @Test
  void aFileThatIsCutOffCountsAsFarAsItGoes() throws Exception {
    trace();
    Path file = directory.resolve("trace-rank-2.tsv");
    String text = Files.readString(file);
    Files.writeString(file, text.substring(0, text.length() / 2));
    JobTrace job = JobTrace.read(directory);
    RankTrace trace = job.traces().get(2);
    assertTrue(trace.cutOff());
    long lines = text.substring(0, text.length() / 2).lines().count();
    assertTrue(Math.abs(lines - 2 - trace.events().size()) <= 1, () -> "" + trace.events().size());
    assertTrue(
        new Summary(job)
            .findings().stream()
                .anyMatch(line -> line.matches("The trace of rank 2 is cut off: its .* count\\.")));
  }

  @Test
  void whatIsNoTraceIsOneErrorThatNamesTheLine() throws Exception {
    Path file = directory.resolve("trace-rank-0.tsv");
    Files.writeString(file, "nonsense\n");
    assertEquals(file + ": no trace: its first line is not '# trace of rank …'", error());
    Files.writeString(file, text(0, "call\t1\t2\t0\t1\t0\t0\t0\t0\t0\t-1\t8\tsum", "x\t1"));
    assertEquals(file + ": no trace: line 4: 2 columns: must be 13", error());
    Files.writeString(file, text(0, "call\t1\t2\t0\t1\t0\t0\t0\t0\t0\t7\t8\tsum"));
    assertEquals(file + ": no trace: line 3: peer '7': must be from -1 to 3", error());
    Files.delete(file);
    assertTrue(error().startsWith(directory + ": no file of the name trace-rank-*.tsv"));
    Files.writeString(file, text(0));
    Files.writeString(directory.resolve("trace-rank-9.tsv"), text(0));
    assertTrue(error().endsWith("give those of one job only"), this::error);
  }

  private String error() {
    return assertThrows(IOException.class, () -> JobTrace.read(directory)).getMessage();
  }

  /** The text of the trace of a rank of a job of 4. */
  static String text(int rank, String... lines) {
    StringBuilder text =
        new StringBuilder("# trace of rank ")
            .append(rank)
            .append(" of 4 at 1970-01-01T00:00:01Z = 1000000000 ns, the last ")
            .append(lines.length)
            .append(" of ")
            .append(lines.length)
            .append(" events, the first 0 of 0 marks\n")
            .append("kind\tbegin\tduration\tworked\tgroup\tsequence\tlane\tslab\tround\tchunk")
            .append("\tpeer\tbytes\tname\n");
    for (String line : lines) {
      text.append(line).append('\n');
    }
    return text.append("# end\n").toString();
  }

  private void write(int rank, String... lines) throws IOException {
    Files.writeString(directory.resolve("trace-rank-" + rank + ".tsv"), text(rank, lines));
  }

  private static String call(long begin, long end) {
    return "call\t" + begin + "\t" + (end - begin) + "\t0\t1\t0\t0\t0\t0\t0\t-1\t8\tsum";
  }

  private static String wait(long begin, long end, int peer) {
    return "wait\t" + begin + "\t" + (end - begin) + "\t0\t1\t0\t0\t0\t0\t0\t" + peer + "\t0\t";
  }

  /**
   * Rank 0 waits for 1, which waits for 2, which has not come; 3 waits for 0 in a circle with 0.
   */
  @Test
  void whoWaitsItselfIsNotToBlame() throws Exception {
    write(0, call(0, 1000), wait(100, 900, 1));
    write(1, call(0, 1000), wait(50, 700, 2));
    write(2, call(600, 1000));
    JobTrace job = JobTrace.read(directory);
    Blame blame = new Blame(job);
    assertEquals(600 + 650, blame.waitedFor(2));
    assertEquals(200, blame.waitedFor(1));
    assertEquals(List.of(2, 1), blame.ranks());
    assertEquals(500 + 550, blame.reasons(2).outside());
    assertEquals(100 + 100, blame.reasons(2).inside());
    String first = new Summary(job).findings().get(0);
    assertTrue(
        first.matches(
            "Others waited 1.25 µs for rank 2, 86 % of the 1.45 µs that all ranks waited together:"
                + " for 1.05 µs of that it had not made the call.*"),
        first);
  }

  @Test
  void whoWaitForEachOtherWaitForTheNetwork() throws Exception {
    write(0, call(0, 1000), wait(100, 900, 1));
    write(1, call(0, 1000), wait(200, 1000, 0));
    Blame blame = new Blame(JobTrace.read(directory));
    assertEquals(700 + 700, blame.waitedFor(Blame.NOBODY));
    assertEquals(100, blame.waitedFor(1));
    assertEquals(100, blame.waitedFor(0));
  }

  /** A ring of one rank makes an event for each call, and forgets the first ones. */
  @Test
  void whatHadNoRoomIsTold() throws Exception {
    int calls = (1 << 18) + 1000;
    try (Communicator world =
        Collectives.inProcess(1, CallSettings.defaults().withTraceDirectory(directory)).get(0)) {
      for (int i = 0; i < calls; i++) {
        world.barrier();
      }
    }
    JobTrace job = JobTrace.read(directory);
    List<TraceEvent> kept = job.traces().get(0).events();
    assertEquals(1000, job.traces().get(0).dropped().events());
    assertEquals(1 << 18, kept.stream().filter(event -> event.kind().isCall()).count());
    assertEquals(1000, kept.get(0).place().sequence());
    assertTrue(
        new Summary(job)
            .findings()
            .contains(
                "The trace of rank 0 has lost its first 1,000 events, for which it had no room."));
  }
}
