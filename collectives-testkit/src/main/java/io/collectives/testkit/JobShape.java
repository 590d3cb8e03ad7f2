package io.collectives.testkit;

import io.collectives.Communicator;
import java.util.List;

/** The number of ranks of a job, and the frames into which it cuts payloads. */
record JobShape(int ranks, int frameLength, int slabsInFlight) {
  /** Opens a job that is closed at the end of the test. */
  List<Communicator> open(JobTest test) throws Exception {
    return test.job(ranks, frameLength, slabsInFlight);
  }
}
