package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The records of a job of three threads of which one left while the others summed. */
class FlightTest {
  @TempDir private Path directory;

  @BeforeEach
  void fail() throws Exception {
    List<Communicator> worlds =
        Collectives.inProcess(
            3,
            CallSettings.defaults()
                .withAlgorithm(Algorithm.ring())
                .withFlightDirectory(directory)
                .withCallSites(true));
    CyclicBarrier underWay = new CyclicBarrier(3);
    List<Thread> threads = new ArrayList<>();
    for (Communicator world : worlds) {
      threads.add(
          new Thread(
              () -> {
                world.barrier();
                if (world.rank() == 1) {
                  meet(underWay);
                  world.close();
                } else {
                  // A rank that hears of the loss before its call would not record that call.
                  CollectiveHandle sum = world.async().allReduce(new float[1234], ReduceOp.SUM);
                  meet(underWay);
                  assertThrows(RankFailedException.class, sum::await);
                }
              }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    worlds.forEach(Communicator::close);
  }

  private static void meet(CyclicBarrier place) {
    try {
      place.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
      throw new IllegalStateException(e);
    }
  }

  private Invocation flight(String arguments) {
    return Invocation.of(("flight " + arguments + directory).split(" "));
  }

  @Test
  void whoIsGoneIsNamed() {
    Invocation run = flight("");
    assertEquals(0, run.status(), run.err());
    assertEquals("", run.err());
    List<String> lines = run.out().lines().toList();
    assertEquals(
        List.of(
            "Exclude rank 1: ranks 0, 2 wait for it, and there is no record of it.",
            "There is no record of rank 1: killed or stopped, perhaps, or its file was not given."),
        lines.subList(0, 2));
    assertTrue(
        lines.stream()
            .anyMatch(
                line ->
                    line.matches(
                        "Call 1 of group 1, made at .*FlightTest.*:\\d+, failed on .*rank 1 .*")),
        run.out());
    assertTrue(
        lines.stream()
            .anyMatch(
                line ->
                    line.matches(".* all-reduce +ring +1 +1,234 +failed .* +no record +failed .*")),
        run.out());
    assertEquals("The last 2 of 2 calls, newest last.", lines.get(lines.size() - 1));
  }

  @Test
  void forProgramsTheSentencesAreApart() {
    Invocation run = flight("--last 1 --format tsv ");
    assertEquals(0, run.status(), run.err());
    assertTrue(run.err().contains("There is no record of rank 1: "), run.err());
    List<String> lines = run.out().lines().toList();
    assertEquals(2, lines.size());
    assertEquals(
        "group\tsequence\tcollective\talgorithm\top\ttype\tcount\trank_0\trank_0_ms\trank_1\trank_1_ms\trank_2\trank_2_ms",
        lines.get(0));
    assertTrue(
        lines
            .get(1)
            .matches(
                ".*\t1\tall-reduce\tring\tsum\tfloat32\t1234\tfailed\t\\d+\tno record\t-\tfailed\t\\d+"),
        lines.get(1));
    Invocation json = flight("--last 1 --format json ");
    assertTrue(json.out().contains("\"rank_1\": \"no record\", \"rank_1_ms\": null"), json.out());
  }

  @Test
  void theCallsAreDrawn() throws Exception {
    Path svg = directory.resolve("job.svg");
    Invocation run = flight("--chart " + svg + " ");
    assertEquals(0, run.status(), run.err());
    String drawing = Files.readString(svg);
    for (String part : List.of(">rank 0<", ">rank 2<", ">no record<", "class=\"vermilion\"")) {
      assertTrue(drawing.contains(part), part);
    }
  }

  @Test
  void whatCannotBeReadIsOneLineAnd1() throws Exception {
    Path bad = Files.writeString(directory.resolve("flight-rank-1.tsv"), "nonsense\n");
    Invocation run = flight("");
    assertEquals(1, run.status());
    assertEquals("", run.out());
    assertEquals(
        "collectives flight: "
            + bad
            + ": no flight record: neither a line "
            + "'# flight record of rank …' nor a call tells whose it is\n",
        run.err());
    Path empty = Files.createDirectory(directory.resolve("empty"));
    run = Invocation.of("flight", empty.toString());
    assertEquals(1, run.status());
    assertEquals(
        "collectives flight: "
            + empty
            + ": no file of the name flight-rank-*.tsv is in this directory\n",
        run.err());
    Path same = Files.copy(directory.resolve("flight-rank-0.tsv"), empty.resolve("copy"));
    run = Invocation.of("flight", same.toString(), same.toString());
    assertEquals(1, run.status());
    assertTrue(run.err().startsWith("collectives flight: two records are of rank 0"), run.err());
  }
}
