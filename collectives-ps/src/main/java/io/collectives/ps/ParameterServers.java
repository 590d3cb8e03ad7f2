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
 * <p><b>Order without negotiation.</b> The {@link GradientReducer} sends all workers once the order
 * in which the gradients of the first one became ready; from then on each knows the place of each
 * gradient in the buffers. Servers need not be told: the first frame of a buffer that arrives
 * describes it, and every other one is compared with it. So buffers may change from step to step.
 *
 * <p><b>Equal shares.</b> Of a buffer, server i of S adds part i; parts differ by at most one
 * element. Workers with M bytes of gradients send each of S servers M/S and get as much back; a
 * dedicated server that W workers share receives and sends W M/S. So with as many servers as
 * workers every rank sends M bytes and receives M, where a ring takes nearly 2 M.
 *
 * <p><b>Segments.</b> A share is sent in frames of {@link
 * io.collectives.CallSettings#frameLength()}. A server adds each frame as it arrives and sends it
 * back when that of the last worker has arrived, while later ones arrive. It adds in the order of
 * workers, beginning with another worker for each share, so the bits depend neither on the timing
 * nor on whether servers are dedicated (see {@link io.collectives.Algorithm#parameterServer(int,
 * int)}); or, as {@code world}'s {@link io.collectives.Repeatability} says, in the order of
 * arrival, in which no segment waits for those of a slower worker, in the order of ranks, or
 * exactly. A server needs memory only for the frames under way, {@code 2 slabsInFlight} of each
 * buffer under way, and for those that wait for their turn, however large the model is.
 *
 * <p><b>Error feedback.</b> With the wire type {@code int8} each worker keeps the rounding errors
 * of its buffers, as in {@link BufferReduction#allReduce}, and each server, dedicated or not, those
 * of the sums of its shares, and adds them in the next step: 4 bytes for each element of a buffer
 * at a worker, and of its shares at a server. Servers recognise buffers by their index; when the
 * length of a buffer or the op changes, workers and servers begin with zeros.
 *
 * <p><b>Hosts and proxies.</b> Workers of one host may add among themselves first, and a dedicated
 * server may be several ranks, each with a share of the workers: see {@link Roles}. The reduce-
 * scatter of a buffer on a host does not wait for the all-gather of the one before, which is in
 * another lane.
 *
 * <p><b>Failures.</b> If a rank is lost, all others get a {@link RankFailedException} that names
 * it: workers from their reducer, dedicated servers from {@link #serve()}. {@linkplain
 * Communicator#shrink Shrink} the job then; {@link #on} gives the ranks that are left their roles,
 * and {@link GradientReducer#on(Communicator, BufferReduction)} makes a reducer with the same
 * gradients.
 *
 * <p><b>Threads.</b> The rules are those of {@link BufferReduction} and {@link Communicator}.
 */
public final class ParameterServers implements AutoCloseable {

  private static final int LANES = 2;

  private final Communicator world;
  private final Roles roles;

  /** The groups of which the lanes are views. */
  private final List<Communicator> groups = new ArrayList<>();

  private final List<Communicator> lanes = new ArrayList<>();
  private final @Nullable Communicator workers;

  private ParameterServers(Communicator world, Roles roles, int laneCount) {
    this.world = world;
    this.roles = roles;
    int[] order = roles.order();
    for (int lane = 0; lane < laneCount; lane++) {
      Communicator group = world.group(order);
      groups.add(group);
      lanes.add(group.using(roles.algorithm()));
    }
    workers = isWorker() ? world.group(roles.workerRanks()) : null;
  }

  /**
   * Sets up the servers of a job, for two buffers at a time.
   *
   * @param world the job; all of its ranks call this, in the same order as they make other groups
   *     of it, and within the time limit of its calls; its settings are those of the servers
   * @param roles the role of each rank, the same on all ranks
   * @throws CollectiveException if a rank is lost, or does not call this in time
   */
  public static ParameterServers of(Communicator world, Roles roles) {
    return of(world, roles, LANES);
  }

  /**
   * Sets up the servers of a job.
   *
   * @param world the job, as in {@link #of(Communicator, Roles)}
   * @param roles the role of each rank, the same on all ranks
   * @param lanes the number of buffers that may be under way at once, from 1 to 64, the same on all
   *     ranks
   * @throws CollectiveException if a rank is lost, or does not call this in time
   */
  public static ParameterServers of(Communicator world, Roles roles, int lanes) {
    if (roles.size() != world.size()) {
      throw new IllegalArgumentException(
          roles.size() + " roles for " + world.size() + " ranks: each needs one");
    }
    if (lanes < 1 || lanes > BufferReduction.MOST_LANES) {
      throw new IllegalArgumentException(
          lanes + " lanes: must be from 1 to " + BufferReduction.MOST_LANES);
    }
    roles.requireFit();
    ParameterServers servers = new ParameterServers(world, roles, lanes);
    servers.makeFirstCall();
    return servers;
  }

  /**
   * Makes a first call of the groups, after which every worker and every server can tell each other
   * why it leaves.
   */
  private void makeFirstCall() {
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
   * Returns the default length of balanced fusion buffers: a sixteenth of the model, so that nearly
   * all of it is reduced during the backward pass; but so much that each server's share fills a
   * frame of 128 KiB, and at most 1 GiB.
   *
   * @param modelLength the bytes of all gradients
   * @param servers the number of servers, at least 1
   */
  public static BufferReduction.BufferLength bufferLength(long modelLength, int servers) {
    return ServedReduction.balancedLength(modelLength, servers);
  }

  /** Returns the role of each rank of the job. */
  public Roles roles() {
    return roles;
  }

  /** Returns whether this rank computes gradients; if not, it {@linkplain #serve() serves}. */
  public boolean isWorker() {
    return roles.of(world.rank()).works();
  }

  /**
   * Returns the group of the ranks that compute gradients, in the order of their ranks in the job.
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
   * Returns the operation by which a {@link GradientReducer} of the {@linkplain #workers() workers}
   * reduces its buffers. There is one such object; it is closed with the reducer, and then this
   * rank leaves its servers.
   *
   * @throws IllegalStateException on a dedicated server
   */
  public BufferReduction reduction() {
    workers();
    return new ServedReduction(List.copyOf(lanes), List.copyOf(groups), roles);
  }

  /**
   * Serves the workers until all of them have closed their reducers. Each dedicated server calls
   * this once.
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
   * Sets up servers with the same roles for the ranks that are left of this job, on the same hosts.
   * A server goes on with the proxies that are left of it; proxies that are too many for the
   * workers that are left become servers of their own. If no server is left, all ranks serve as
   * well. This object is closed.
   *
   * @param left a group of ranks of this job; all of them call this, as in {@link #of(Communicator,
   *     Roles)}. For other ranks make new roles
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

  /** Leaves the groups that this object has made. Closing again does nothing. */
  @Override
  public void close() {
    groups.forEach(Communicator::close);
    if (workers != null) {
      workers.close();
    }
  }

  /**
   * Returns a text with this rank's role, and the memory that the library takes for frames and
   * links at this rank.
   */
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
        + world.explain(0).cost().libraryBytes()
        + " bytes for frames and links"
        + (isWorker() ? "" : ", and 2 slabsInFlight frames for each buffer under way");
  }
}
