package io.collectives.spi;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import java.util.List;
import java.util.Map;

/** Brings plans, transports and ranks together; found by {@link java.util.ServiceLoader}. */
public interface CollectivesRuntime {

  /**
   * Reads the environment of a process.
   *
   * @throws io.collectives.JoinException if it describes no job, naming what was looked for
   */
  JobSettings settings(Map<String, String> environment);

  /** See {@link io.collectives.Collectives#join(JobSettings)}. */
  Communicator join(JobSettings settings);

  /** See {@link io.collectives.Collectives#inProcess(int, CallSettings)}. */
  List<Communicator> inProcess(int ranks, CallSettings calls);
}
