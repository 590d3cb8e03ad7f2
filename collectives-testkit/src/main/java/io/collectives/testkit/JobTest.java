package io.collectives.testkit;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;

/** A test with jobs whose ranks are threads of this JVM. It closes what it has opened. */
public abstract class JobTest {
  static final long SEED = Long.getLong("collectives.seed", 20_261_120L);
  static final Duration PATIENCE = Duration.ofSeconds(30);

  private final List<Communicator> opened = new ArrayList<>();
  private final Map<Communicator, BufferPool> pools = new ConcurrentHashMap<>();

  /** Makes a test; only the kits extend this class directly. */
  JobTest() {}

  /**
   * Opens a job whose ranks are threads of this JVM, with the in-process transport unless a
   * subclass overrides this.
   *
   * @param calls the settings of its communicators
   * @return the communicator of each rank, in the order of ranks; this class closes them
   */
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return Collectives.inProcess(ranks, calls);
  }

  /**
   * Returns the algorithm under test for a group of the given size; it is auto unless a subclass
   * overrides this.
   */
  protected Algorithm algorithm(int ranks) {
    return Algorithm.auto();
  }

  /** Opens a job that is closed at the end of the test. */
  final List<Communicator> job(int ranks, CallSettings calls) throws Exception {
    List<Communicator> worlds = open(ranks, calls);
    opened.addAll(worlds);
    return worlds;
  }

  /** Opens a job of the algorithm with short frames, so that small payloads have many slabs. */
  final List<Communicator> job(int ranks, int frameLength, int slabsInFlight) throws Exception {
    return job(
        ranks,
        CallSettings.defaults()
            .withAlgorithm(algorithm(ranks))
            .withTimeout(PATIENCE)
            .withFrameLength(frameLength)
            .withSlabsInFlight(slabsInFlight));
  }

  /** Returns the buffer pool of a rank; all ranks of the job allocate together. */
  final BufferPool pool(Communicator world) {
    return pools.computeIfAbsent(world, BufferPool::new);
  }

  /** Closes all that a test has opened. */
  @AfterEach
  public final void closeAll() {
    opened.forEach(Communicator::close);
    opened.clear();
    pools.clear();
  }
}
