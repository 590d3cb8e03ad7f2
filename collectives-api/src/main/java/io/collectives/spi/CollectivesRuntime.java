package io.collectives.spi;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.TextExchange;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Brings plans, transports and ranks together; found by {@link java.util.ServiceLoader}. */
public interface CollectivesRuntime {

  /** Returns whether the environment of a process has any part of a description of a job. */
  boolean describesJob(Map<String, String> environment);

  /**
   * Reads the environment of a process.
   *
   * @throws io.collectives.JoinException if it describes no job, naming what was looked for
   */
  JobSettings settings(Map<String, String> environment);

  /**
   * See {@link io.collectives.Collectives#join(JobSettings)}.
   *
   * @param wrapping given the transport of this rank, returns the one to use: the same, or one
   *     around it, as for a test that disturbs it. Asked again when the job grows
   */
  Communicator join(JobSettings settings, UnaryOperator<Transport> wrapping);

  /**
   * See {@link io.collectives.Collectives#join(JobSettings, TextExchange)}.
   *
   * @param wrapping given the transport of this rank, returns the one to use
   */
  Communicator join(JobSettings settings, TextExchange exchange, UnaryOperator<Transport> wrapping);

  /**
   * See {@link io.collectives.Collectives#inProcess(int, CallSettings)}.
   *
   * @param wrapping given the transport of each rank, in their order, returns the one to use
   */
  List<Communicator> inProcess(int ranks, CallSettings calls, UnaryOperator<Transport> wrapping);
}
