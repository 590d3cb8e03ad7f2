package io.collectives.bench.jmh;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.ThreadRanks;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.report.ByteSize;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Whole all-reduces of float32 between threads of one JVM, in place, over every transport.
 *
 * <p>The measured thread is rank 0. The other ranks are threads that last as long as the trial:
 * each waits until the turn changes, takes part in one call, and waits again. Rank 0 changes the
 * turn, makes its call, and returns; since a call cannot end before all ranks have entered, no
 * thread is ever more than one turn behind, and nothing else has to be said when it finishes. With
 * {@code -prof gc} the allocations of all ranks are counted.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class AllReduceBenchmark {
  private static final long STOP = -1;
  private static final int SPINS = 1_000;

  /** Returns how many threads reduce together. */
  @Param({"2", "4"})
  public int ranks;

  /** The transport; except with {@code inprocess} threads join as processes do. */
  @Param({"inprocess", "shm", "unix", "tcp"})
  public String transport = "";

  /** The algorithm, as on the command line. */
  @Param({"ring", "direct"})
  public String algorithm = "";

  /** The length of the payload, as on the command line. */
  @Param({"8", "64K", "1M"})
  public String bytes = "";

  private final List<Thread> peers = new ArrayList<>();
  private List<Communicator> views = List.of();
  private Optional<ThreadRanks> joined = Optional.empty();
  private Payload mine = Payload.of(new float[0]);
  private volatile long turn;

  /** Joins the ranks and starts the threads. */
  @Setup
  public void start() throws IOException {
    int count = Math.toIntExact(ByteSize.parse(bytes).bytes() / Float.BYTES);
    CallSettings calls = CallSettings.defaults();
    ThreadRanks threads =
        transport.equals("inprocess")
            ? ThreadRanks.inProcess(ranks, calls)
            : ThreadRanks.joined(ranks, transport, calls, FreePort.find());
    joined = Optional.of(threads);
    views =
        threads.worlds().stream()
            .map(world -> world.using(new AlgorithmChoice(algorithm).forRanks(ranks)))
            .toList();
    mine = Payload.of(new float[count]);
    for (int rank = 1; rank < ranks; rank++) {
      Communicator view = views.get(rank);
      Payload payload = Payload.of(new float[count]);
      Communicator world = threads.worlds().get(rank);
      Thread thread = new Thread(() -> takePart(world, view, payload), "rank" + rank);
      thread.setDaemon(true);
      peers.add(thread);
      thread.start();
    }
  }

  /** Makes one all-reduce on all ranks. */
  @Benchmark
  public void allReduce() {
    turn++; // written by this thread only
    views.get(0).allReduce(mine, ReduceOp.SUM);
  }

  /** Ends the threads. */
  @TearDown
  public void stop() throws InterruptedException {
    turn = STOP;
    for (Thread peer : peers) {
      peer.join();
    }
    joined.ifPresent(ThreadRanks::close);
  }

  /** Returns when a call fails the rank leaves, so that rank 0's call fails too. */
  private void takePart(Communicator world, Communicator view, Payload payload) {
    try {
      for (long done = 0; awaitTurn(done) != STOP; done++) {
        view.allReduce(payload, ReduceOp.SUM);
      }
    } catch (RuntimeException e) {
      world.close();
      throw e;
    }
  }

  private long awaitTurn(long done) {
    for (int spins = 0; turn == done; spins++) {
      if (spins < SPINS) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
      }
    }
    return turn;
  }
}
