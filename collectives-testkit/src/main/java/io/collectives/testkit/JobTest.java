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
  private final Map<Communicator, Shelf> shelves = new ConcurrentHashMap<>();

  /** For the kits. */
  JobTest() {}

  /**
   * Opens a job whose ranks are threads of this JVM; in process unless a subclass says otherwise.
   *
   * @param calls what its communicators do unless told otherwise
   * @return the communicator of each rank, in the order of ranks; this class closes them
   */
  protected List<Communicator> open(int ranks, CallSettings calls) throws Exception {
    return Collectives.inProcess(ranks, calls);
  }

  /** The algorithm under test, for a group of so many ranks; unless a subclass says so, auto. */
  protected Algorithm algorithm(int ranks) {
    return Algorithm.auto();
  }

  /** Opens a job that ends with the test. */
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

  /** Memory of a rank; the first that it asks for is allocated by all ranks of the job. */
  final Shelf shelf(Communicator world) {
    return shelves.computeIfAbsent(world, Shelf::new);
  }

  /** Frees what a test has opened. */
  @AfterEach
  public final void closeAll() {
    opened.forEach(Communicator::close);
    opened.clear();
    shelves.clear();
  }
}
