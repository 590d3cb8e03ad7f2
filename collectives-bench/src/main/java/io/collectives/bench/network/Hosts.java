package io.collectives.bench.network;

import java.util.List;
import java.util.Map;

/** A host for each rank of a job. They last until they are closed. */
public interface Hosts extends AutoCloseable {

  /** Returns how many hosts there are. */
  int hosts();

  /** The command that runs a command on a rank's host, as the same process. */
  List<String> on(int rank, List<String> command);

  /** Returns what the process of a rank must know of its host and the others'. */
  Map<String, String> variables(int rank);

  @Override
  void close();
}
