package io.collectives.testkit;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.internal.Services;
import io.collectives.spi.CollectivesRuntime;
import io.collectives.spi.Transport;
import java.util.List;
import java.util.function.UnaryOperator;

/** Jobs whose ranks use a test's transports around the library's. */
public final class WrappedJobs {
  private WrappedJobs() {}

  /**
   * Makes a job as {@link io.collectives.Collectives#inProcess(int, CallSettings)} does.
   *
   * @param wrapping a function that makes the transport of each rank from the library's
   */
  public static List<Communicator> inProcess(
      int ranks, CallSettings calls, UnaryOperator<Transport> wrapping) {
    return runtime().inProcess(ranks, calls, wrapping);
  }

  /**
   * Joins a job as {@link io.collectives.Collectives#join(JobSettings)} does.
   *
   * @param wrapping a function that makes the transport of this rank from the library's
   */
  public static Communicator join(JobSettings settings, UnaryOperator<Transport> wrapping) {
    return runtime().join(settings, wrapping);
  }

  private static CollectivesRuntime runtime() {
    return Services.of(CollectivesRuntime.class).findFirst().orElseThrow();
  }
}
