package io.collectives.all;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Jobs over sockets whose ranks are threads of this JVM. */
final class TcpJobs {
  private TcpJobs() {}

  /**
   * Lets so many ranks meet at a place.
   *
   * @param more what to set beside the usual
   */
  static List<Communicator> join(
      int ranks, URI place, CallSettings calls, UnaryOperator<JobSettings> more) throws Exception {
    return join(ranks, place, calls, more, Collectives::join);
  }

  /**
   * Lets them meet in a way of a test's own.
   *
   * @param way how a rank joins
   */
  static List<Communicator> join(
      int ranks,
      URI place,
      CallSettings calls,
      UnaryOperator<JobSettings> more,
      Function<JobSettings, Communicator> way)
      throws Exception {
    List<CompletableFuture<Communicator>> joining = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      JobSettings settings =
          more.apply(JobSettings.of(rank, ranks, place).withTransport("tcp").withCalls(calls));
      CompletableFuture<Communicator> joined = new CompletableFuture<>();
      joining.add(joined);
      new Thread(
              () -> {
                try {
                  joined.complete(way.apply(settings));
                } catch (Throwable e) {
                  joined.completeExceptionally(e);
                }
              },
              "contract-join" + rank)
          .start();
    }
    List<Communicator> worlds = new ArrayList<>();
    for (CompletableFuture<Communicator> joined : joining) {
      worlds.add(joined.get(70, TimeUnit.SECONDS));
    }
    return worlds;
  }
}
