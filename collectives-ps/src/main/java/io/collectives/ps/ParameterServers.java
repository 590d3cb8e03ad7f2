package io.collectives.ps;

import io.collectives.BufferReduction;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.RelayedError;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The parameter servers of a job: ranks that add up the gradients of workers, each an equal share
 * of every fusion buffer (<em>Herring</em>, Thangakrishnan et al. 2020, section III).
 *
 * <pre>{@code
 * Roles roles = Roles.dedicated(world.size(), 2); // or Roles.fromEnvironment(world)
 * try (ParameterServers servers = ParameterServers.of(world, roles)) {
 *   if (!servers.isWorker()) {
 *     servers.serve();                            // until the workers close
 *   } else {
 *     FusionSettings fusion = FusionSettings.balancedBuffers().withEnvironment();
 *     try (GradientReducer reducer =
 *         GradientReducer.of(servers.workers(), fusion, servers.reduction())) {
 *       ...                                       // as with any other reduction
 *     }
 *   }
 * }
 * }</pre>
 *
 * <p><b>Order without negotiation.</b> The {@link GradientReducer} tells all workers once in which
 * order the gradients of the first one became ready; from then on each knows where each gradient
 * lies in which buffer. Servers are told nothing: the first frame of a buffer that comes to one
 * says what it is, and every other one is compared with it. So buffers may change from step to
 * step.
 *
 * <p><b>Equal shares.</b> Of a buffer, server i of S adds part i; parts differ by at most one
 * element. Workers with M bytes of gradients send each of S servers M/S and get as much back; a
 * dedicated server that W workers share receives and sends W M/S. So with as many servers as
 * workers every rank sends M bytes and receives M, where a ring takes nearly 2 M.
 *
 * <p><b>Segments.</b> A share crosses the links in frames of {@link
 * io.collectives.CallSettings#frameLength()}. A server adds each as it arrives and sends it back
 * when that of the last worker is in, while later ones come. It adds in the order of workers,
 * beginning with another one for each share, so the bits do not depend on who is late, nor on
 * whether its servers are dedicated (see {@link io.collectives.Algorithm#parameterServer(int,
 * int)}); or, as {@code world}'s {@link io.collectives.Repeatability} says, in the order of
 * arrival, in which nobody's segments wait for those of a slower worker, in the order of ranks, or
 * exactly. A server needs memory for the frames under way only, {@code 2 slabsInFlight} of each
 * buffer that is, and what waits for its turn, however large the model.
 *
 * <p><b>Error feedback.</b> With the wire type {@code int8} each worker keeps what rounding takes
 * from its buffers, as in {@link BufferReduction#allReduce}, and each server, dedicated or not,
 * what rounding takes from the sums of its shares, and adds it in the next step: 4 bytes for each
 * element of a buffer at a worker, and of its shares at a server. Buffers are known to servers by
 * their index; when the length of one or the op changes both begin with zeros.
 *
 * <p><b>Hosts and proxies.</b> Workers of one host may add among themselves first, and a dedicated
 * server may be several ranks, each with a share of the workers: see {@link Roles}. The reduce-
 * scatter of a buffer on a host does not wait for the all-gather of the one before, which is in
 * another lane.
 *
 * <p><b>Failures.</b> If a rank is lost, all others get a {@link RankFailedException} that names
 * it: workers from their reducer, dedicated servers from {@link #serve()}. {@linkplain
 * Communicator#shrink Shrink} the job then; {@link #on} gives those who are left their roles, and
 * {@link GradientReducer#on(Communicator, BufferReduction)} goes on with the gradients.
 *
 * <p><b>Threads.</b> Those of {@link BufferReduction} and {@link Communicator}.
 */
public final class ParameterServers implements AutoCloseable {
  private static final int LANES = 2;
  private static final int MOST_LANES = 8;

  private final Communicator world;
  private final Roles roles;

  /** What the lanes are views of. */
  private final List<Communicator> groups = new ArrayList<>();

  private final List<Communicator> lanes = new ArrayList<>();
  private final @Nullable Communicator workers;

  private ParameterServers(Communicator world, Roles roles, int laneCount) {
    this.world = world;
    this.roles = roles;
    int[] seats = roles.seats();
    for (int lane = 0; lane < laneCount; lane++) {
      Communicator group = world.group(seats);
      groups.add(group);
      lanes.add(group.using(roles.algorithm()));
    }
    workers = isWorker() ? world.group(roles.workerRanks()) : null;
  }

  /**
   * The servers of a job, for two buffers at a time.
   *
   * @param world all of its ranks call this, at the same place among the groups that they make of
   *     it, and within the time limit of its calls; its settings are those of the servers
   * @param roles the same on all ranks, as many as there are
   * @throws CollectiveException if a rank is lost, or does not call this in time
   */
  public static ParameterServers of(Communicator world, Roles roles) {
    return of(world, roles, LANES);
  }

  /**
   * The servers of a job.
   *
   * @param world as in {@link #of(Communicator, Roles)}
   * @param roles the same on all ranks, as many as there are
   * @param lanes the same on all ranks, from 1 to 8: how many buffers are under way at once
   * @throws CollectiveException if a rank is lost, or does not call this in time
   */
  public static ParameterServers of(Communicator world, Roles roles, int lanes) {
    if (roles.size() != world.size()) {
      throw new IllegalArgumentException(
          roles.size() + " roles for " + world.size() + " ranks: each needs one");
    }
    if (lanes < 1 || lanes > MOST_LANES) {
      throw new IllegalArgumentException(lanes + " lanes: must be from 1 to " + MOST_LANES);
    }
    roles.requireFit();
    ParameterServers servers = new ParameterServers(world, roles, lanes);
    servers.meet();
    return servers;
  }

  /** From here on every worker and every server can tell each other why it leaves. */
  private void meet() {
    Payload nothing = Payload.of(new float[0]);
    try {
      List<CollectiveHandle> handles =
          lanes.stream().map(lane -> lane.async().allReduce(nothing, ReduceOp.SUM)).toList();
      handles.forEach(CollectiveHandle::await);
    } catch (CollectiveException e) {
      CollectiveException original = RelayedError.original(e);
      abort(RelayedError.reason(original));
      close();
      throw original;
    }
  }

  /**
   * How long balanced fusion buffers are, unless that is set: a sixteenth of the model, so that
   * nearly all of it is reduced beside the backward pass; but as long that each server's share
   * fills a frame of 128 KiB, and at most 1 GiB.
   *
   * @param modelLength the bytes of all gradients
   * @param servers at least 1
   */
  public static BufferReduction.BufferLength bufferLength(long modelLength, int servers) {
    return ServedReduction.balancedLength(modelLength, servers);
  }

  /** What each rank of the job does. */
  public Roles roles() {
    return roles;
  }

  /** Whether this rank computes gradients; if not, it {@linkplain #serve() serves}. */
  public boolean isWorker() {
    return roles.of(world.rank()).works();
  }

  /**
   * The group of the ranks that compute gradients, in the order of their ranks in the job.
   *
   * @throws IllegalStateException on a dedicated server
   */
  public Communicator workers() {
    if (workers == null) {
      throw new IllegalStateException(
          "rank " + world.rank() + " is a dedicated server: it is not among the workers");
    }
    return workers;
  }

  /**
   * What a {@link GradientReducer} of the {@linkplain #workers() workers} gives its buffers to.
   * There is one; it is closed with the reducer, and then this rank leaves its servers.
   *
   * @throws IllegalStateException on a dedicated server
   */
  public BufferReduction reduction() {
    workers();
    return new ServedReduction(List.copyOf(lanes), List.copyOf(groups), roles);
  }

  /**
   * Serves the workers until all of them have closed their reducers. On dedicated servers, once.
   *
   * @throws CollectiveException if a rank is lost, makes a mistake or aborts
   * @throws IllegalStateException on a worker
   */
  public void serve() {
    if (isWorker()) {
      throw new IllegalStateException(
          "rank "
              + world.rank()
              + " is a worker, which serves by itself: reduce gradients instead");
    }
    List<CollectiveHandle> services = lanes.stream().map(Communicator::serve).toList();
    CollectiveException error = null;
    for (CollectiveHandle service : services) {
      try {
        service.await();
      } catch (CollectiveException e) {
        if (error == null) {
          error = RelayedError.original(e);
          abort(RelayedError.reason(error));
        }
      }
    }
    if (error != null) {
      throw error;
    }
  }

  private void abort(String reason) {
    lanes.forEach(lane -> lane.abort(reason));
  }

  /**
   * The same roles for the ranks that are left of this job, on the same hosts. A server goes on
   * with the proxies that are left of it; those that are too many for the workers that are left
   * become servers of their own. If no server is left, all that are left serve as well. This one is
   * closed.
   *
   * @param left all of its ranks call this, as in {@link #of(Communicator, Roles)}; they were ranks
   *     of this job. For others make new roles
   */
  public ParameterServers on(Communicator left) {
    int laneCount = lanes.size();
    close();
    int[] kept =
        IntStream.range(0, left.size()).map(rank -> formerRank(left.worldRank(rank))).toArray();
    return of(left, roles.of(kept), laneCount);
  }

  private int formerRank(int worldRank) {
    for (int rank = 0; rank < world.size(); rank++) {
      if (world.worldRank(rank) == worldRank) {
        return rank;
      }
    }
    throw new IllegalArgumentException(
        "rank "
            + worldRank
            + " has no role yet: make roles for all ranks, and ParameterServers.of(world, roles)");
  }

  /** Leaves the groups that this has made. Closing again does nothing. */
  @Override
  public void close() {
    groups.forEach(Communicator::close);
    if (workers != null) {
      workers.close();
    }
  }

  /** What this rank does, and how much memory the library takes at it for frames and links. */
  @Override
  public String toString() {
    return "rank "
        + world.rank()
        + " of "
        + world.size()
        + ", "
        + roles.of(world.rank())
        + " among "
        + roles
        + ", "
        + lanes.size()
        + (lanes.size() == 1 ? " lane" : " lanes")
        + ", at most "
        + world.explain(0).libraryBytes()
        + " bytes for frames and links"
        + (isWorker() ? "" : ", and 2 slabsInFlight frames for each buffer under way");
  }
}
