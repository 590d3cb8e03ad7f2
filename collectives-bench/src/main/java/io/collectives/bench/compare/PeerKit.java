package io.collectives.bench.compare;

import io.collectives.Collective;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The way in which a peer is built and started. */
interface PeerKit {

  /**
   * The ways in which it makes a collective over a medium, of which the best counts; none if it
   * cannot.
   */
  List<String> variants(Collective collective, Medium medium);

  /** Returns whether its code is compiled before it runs. */
  boolean compilesAhead();

  /**
   * Builds what is not built yet.
   *
   * @throws MissingPeerException if what it takes is not on this machine
   */
  void prepare(PeerBuild build) throws MissingPeerException, IOException, InterruptedException;

  /**
   * The processes to start, after {@link #prepare}: one for each rank, or one that starts the
   * ranks.
   *
   * @param scratch an empty directory that lasts as long as the processes
   */
  List<Start> starts(PeerBuild build, PeerJob job, Path scratch) throws IOException;

  /**
   * A process to start.
   *
   * @param environment variables besides those that tell a rank who it is
   */
  record Start(List<String> command, Map<String, String> environment) {}
}
