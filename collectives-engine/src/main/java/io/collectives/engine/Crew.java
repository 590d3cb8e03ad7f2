package io.collectives.engine;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The ranks of a job that are threads of one JVM and outnumber its processors. One that waits for
 * another which has given its processor away does that one's part.
 *
 * <p>A collective goes by rounds. If each rank did its own part only, a call would take as many
 * turns of a processor as it has rounds, and a turn costs as much as adding up tens of thousands of
 * numbers that are at hand. So the rank that comes last, for which all others wait, does all that
 * has become possible, one rank after the other as it needs their results; and the others find the
 * call done at their next turn and go on to the next call.
 *
 * <p>What a rank's part is and in which order its numbers are added does not depend on whose thread
 * does it: that takes the rank's lock and polls the rank's engine. A rank is helped only if its
 * thread waits for a call and has given way, and only by one whose own call waits for it: to look
 * after all others whenever there is nothing to do costs more than it saves from eight ranks on.
 */
class Crew {
  private final AtomicReferenceArray<Driver> drivers;

  Crew(int ranks) {
    drivers = new AtomicReferenceArray<>(ranks);
  }

  void join(int rank, Driver driver) {
    drivers.set(rank, driver);
  }

  /** Does what a rank has to do. Returns how much that was; 0 if it needs or wants no help. */
  int help(int rank) {
    Driver driver = drivers.get(rank);
    return driver == null ? 0 : driver.help();
  }
}
