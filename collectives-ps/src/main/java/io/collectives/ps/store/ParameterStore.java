package io.collectives.ps.store;

import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.RelayedError;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.ps.Role;
import io.collectives.ps.Roles;
import io.collectives.training.optimizer.LayerwiseOptimizer;
import io.collectives.training.optimizer.Optimizer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a model, which servers keep and update: workers push gradients and pull
 * weights. In contrast to {@link io.collectives.ps.ParameterServers}, which only add gradients, it
 * moves the optimizer and its state from the workers to the servers, and lets workers be at
 * different steps (Li et al. 2014, <em>Scaling Distributed Machine Learning with the Parameter
 * Server</em>; Ho et al. 2013, <em>More Effective Distributed ML via a Stale Synchronous Parallel
 * Parameter Server</em>).
 *
 * <pre>{@code
 * Roles roles = Roles.dedicated(world.size(), 2);
 * try (ParameterStore store = ParameterStore.of(world, roles, Staleness.synchronous())) {
 *   if (!store.isWorker()) {
 *     store.restore(directory);                  // if there is a checkpoint
 *     store.serve(Optimizers.adam(step -> 0.001), directory);
 *   } else {
 *     store.register("weight", Payload.of(weights), Payload.of(gradients));
 *     store.pull();                              // all begin with worker 0's, or the checkpoint's
 *     while (store.clock() < steps) {
 *       ...                                      // gradients of the weights
 *       store.step();                            // weights are the next ones now
 *       if (store.clock() % 1000 == 0 && world.rank() == 0) {
 *         store.checkpoint();
 *       }
 *     }
 *     store.finish();
 *   }
 * }
 * }</pre>
 *
 * <p><b>Parts.</b> All tensors, one after the other in the order in which they are registered, form
 * one vector of float32. Server i of S keeps part i of it, {@code 1/S} to within one element, with
 * the optimizer's state for it. In a step a worker with M bytes of parameters sends M and receives
 * M; a server that W workers share receives and sends W M/S. Tensors are read and written in place.
 *
 * <p><b>Consistency.</b> See {@link Staleness}. In the synchronous mode a step is one update with
 * the average of what the workers have pushed, added in the order of their ranks: the weights are
 * those that each worker would compute by itself, with the same {@link Optimizer}, from an
 * all-reduce with {@link Repeatability#RANK_ORDER}, bit by bit, in every run and with any number of
 * servers. In the other modes the bits depend on the order of arrival. A pull copies each server's
 * part as it was at one moment, between two updates of that server; parts of different servers may
 * differ by the updates that were under way.
 *
 * <p><b>The end.</b> A worker that has no more data calls {@link #finish}; the others go on without
 * it, and a synchronous step is the average over the workers that are left. A worker that closes
 * without that, for example after an exception in its own code, counts as lost.
 *
 * <p><b>Checkpoints.</b> Any worker can have the servers write a {@link #checkpoint}; {@link
 * #restore} goes on with it, with as many servers as wrote it or with another number.
 *
 * <p><b>Failures.</b> If a rank is lost, all others get the same {@link RankFailedException}, which
 * names it, from the method that they are in or call next; {@linkplain Communicator#shrink()
 * shrink} the job then. If it was a worker, the servers have lost nothing: {@link #on} makes a
 * store of the ranks that are left, workers {@link #pull} and go on from {@link #clock}. Servers
 * may be a step apart then; workers repeat that step, and servers that have done it leave it out.
 * If it was a server, its part is lost: make a new store of the ranks that are left, with roles to
 * match, and restore.
 *
 * <p><b>Time limits.</b> Workers may take any time between calls while no other rank waits for
 * them. If a worker has waited at a server for another one for the time limit of the world's calls,
 * the server ends the store with a {@link io.collectives.CallTimeoutException} that names the one
 * that is farthest behind. If a server does not answer for twice that time, the worker's error
 * names it.
 *
 * <p><b>Memory.</b> A server needs 4 bytes for each parameter of its part and each number of state,
 * and as much as the part for each worker, which holds its gradient, or the weights that are sent
 * to it. A worker needs memory for descriptions only. A step allocates some hundred bytes for each
 * pair of worker and server.
 *
 * <p><b>Threads.</b> One thread at a time may use a store at each rank.
 */
public final class ParameterStore implements AutoCloseable {
  /** The largest time limit of a call, because workers may compute for any time. */
  private static final Duration LONGEST = Duration.ofDays(365);

  private final Communicator group;
  private final Communicator patient;
  private final @Nullable Communicator serverGroup;
  private final Roles roles;
  private final Staleness staleness;
  private final int[] workers;
  private final int[] servers;

  /** The server's part; null at a worker. */
  private final @Nullable Shard shard;

  /** The tensors of a worker. */
  private final List<Tensor> tensors = new ArrayList<>();

  /** The client of a worker; null before its first call, and at a server. */
  private @Nullable Client client;

  private @Nullable CollectiveException error;
  private boolean hasFinished;

  private record Tensor(String name, Payload weights, Payload gradients) {}

  private ParameterStore(
      Communicator world, Roles roles, Staleness staleness, @Nullable Shard known) {
    this.roles = roles;
    this.staleness = staleness;
    this.workers = ranks(roles, Role.WORKER);
    this.servers = ranks(roles, Role.SERVER);
    this.group = world.group(IntStream.range(0, world.size()).toArray());
    this.patient = group.within(LONGEST);
    int part = indexOf(servers, world.rank());
    this.serverGroup = part < 0 ? null : world.group(servers);
    this.shard = part < 0 || known != null ? known : new Shard(part, servers.length);
  }

  private static int[] ranks(Roles roles, Role wanted) {
    return IntStream.range(0, roles.size()).filter(rank -> roles.of(rank) == wanted).toArray();
  }

  private static int indexOf(int[] ranks, int rank) {
    return IntStream.range(0, ranks.length).filter(i -> ranks[i] == rank).findFirst().orElse(-1);
  }

  /**
   * Makes a store of the ranks of a job.
   *
   * @param world the job; all of its ranks call this, in the same order as they make other groups
   *     of it, and within the time limit of its calls. Gradients and weights are sent as they are
   *     in memory: the job's wire type is {@link WireType#AS_IN_MEMORY}, and it does not check
   *     numbers or sum exactly
   * @param roles the role of each rank, the same on all ranks; all servers are dedicated, and have
   *     no proxies
   * @param staleness the bound between workers, the same on all ranks
   * @throws CollectiveException if a rank is lost, or does not call this in time
   */
  public static ParameterStore of(Communicator world, Roles roles, Staleness staleness) {
    return of(world, roles, staleness, null);
  }

  private static ParameterStore of(
      Communicator world, Roles roles, Staleness staleness, @Nullable Shard known) {
    Objects.requireNonNull(staleness, "staleness");
    if (roles.size() != world.size()) {
      throw new IllegalArgumentException(
          roles.size() + " roles for " + world.size() + " ranks: each needs one");
    }
    if (roles.servers() != roles.dedicated()) {
      throw new IllegalArgumentException(
          roles
              + ": servers that keep parameters must be dedicated, as by Roles.dedicated(ranks,"
              + " servers); such a server may be a process on a worker's host");
    }
    if (ranks(roles, Role.SERVER).length != roles.dedicated()) {
      throw new IllegalArgumentException(
          roles
              + ": servers that keep parameters have no proxies; let each of these ranks be a"
              + " server, as by Roles.dedicated(ranks, servers)");
    }
    CallSettings settings = world.settings();
    if (settings.wireType() != WireType.AS_IN_MEMORY
        || settings.finiteCheck()
        || settings.repeatability() == Repeatability.EXACT) {
      throw new IllegalArgumentException(
          "a store of parameters with wire type "
              + settings.wireType()
              + (settings.finiteCheck() ? ", checked numbers" : "")
              + " and repeatability "
              + settings.repeatability()
              + ": it sends numbers as they are and adds them in the order of ranks; make it of a"
              + " world with wire type as-in-memory, without a finite check and not EXACT");
    }
    ParameterStore store = new ParameterStore(world, roles, staleness, known);
    try {
      store.makeFirstCall();
    } catch (CollectiveException e) {
      store.close();
      throw e;
    }
    return store;
  }

  /**
   * Makes a first call of the group, after which every worker and every server can tell each other
   * why it leaves.
   */
  private void makeFirstCall() {
    Payload nothing = Payload.of(new float[0]);
    guard(
        () -> {
          List<CollectiveHandle> handles = new ArrayList<>();
          for (int other : isWorker() ? servers : workers) {
            handles.add(group.async().send(nothing, other));
            handles.add(group.async().receive(nothing, other));
          }
          handles.forEach(CollectiveHandle::await);
          return null;
        });
  }

  /** Returns whether this rank computes gradients; if not, it {@linkplain #serve serves}. */
  public boolean isWorker() {
    return shard == null;
  }

  /** Returns the role of each rank of the job. */
  public Roles roles() {
    return roles;
  }

  /**
   * Registers a tensor. All workers register the same tensors in the same order, before their first
   * other call.
   *
   * @param name the name in errors
   * @param weights the float32 weights, in any memory on each worker; {@link #pull} and {@link
   *     #step} write them; worker 0's are read when it sends the first ones
   * @param gradients as many float32 gradients; {@link #push} and {@link #step} read them
   * @throws IllegalStateException on a server, or after the first pull
   */
  public void register(String name, Payload weights, Payload gradients) {
    requireWorker("register a tensor");
    if (client != null) {
      throw new IllegalStateException(
          "tensor \"" + name + "\" after the first pull: register all tensors before");
    }
    if (weights.type() != ElementType.FLOAT32 || gradients.type() != ElementType.FLOAT32) {
      throw new IllegalArgumentException(
          "tensor \""
              + name
              + "\" with weights of "
              + weights.type()
              + " and gradients of "
              + gradients.type()
              + ": servers keep float32, both must be of that type");
    }
    if (weights.count() != gradients.count()) {
      throw new IllegalArgumentException(
          "tensor \""
              + name
              + "\" with "
              + weights.count()
              + " weights and "
              + gradients.count()
              + " gradients: must be as many");
    }
    tensors.add(new Tensor(name, weights, gradients));
  }

  private void requireWorker(String what) {
    if (shard != null) {
      throw new IllegalStateException(
          "rank " + group.worldRank(group.rank()) + " is a server and cannot " + what);
    }
  }

  private Shard requireServer(String what) {
    if (shard == null) {
      throw new IllegalStateException(
          "rank " + group.worldRank(group.rank()) + " is a worker and cannot " + what);
    }
    return shard;
  }

  /** Returns this worker's client; the first call sends the servers a description of the model. */
  private Client client(String what) {
    requireWorker(what);
    if (hasFinished) {
      throw new IllegalStateException(
          "rank " + group.worldRank(group.rank()) + " has finished and cannot " + what);
    }
    Client known = client;
    if (known == null) {
      known =
          new Client(
              patient,
              servers,
              patience(),
              model(),
              together(tensors.stream().map(Tensor::weights).toList()),
              together(tensors.stream().map(Tensor::gradients).toList()));
      client = known;
      known.begin(staleness);
    }
    return known;
  }

  /**
   * Returns the time that a worker waits, which is long enough for servers to name a late worker
   * first.
   */
  private Duration patience() {
    Duration limit = group.settings().timeout();
    return limit.compareTo(LONGEST.dividedBy(2)) < 0 ? limit.multipliedBy(2) : LONGEST;
  }

  private static Payload together(List<Payload> payloads) {
    return payloads.isEmpty() ? Payload.of(new float[0]) : Payload.of(payloads);
  }

  private Model model() {
    Model model = Model.EMPTY;
    for (Tensor tensor : tensors) {
      model = model.with(tensor.name, tensor.weights.count());
    }
    return model;
  }

  /**
   * Receives the weights from the servers into the registered tensors, as soon as the {@link
   * Staleness} allows it. The first weights are those that worker 0 had in its tensors, or those of
   * the checkpoint.
   *
   * @throws CollectiveException if a rank is lost, makes a mistake, aborts or is late
   */
  public void pull() {
    guard(
        () -> {
          client("pull weights").exchange(false, true);
          return null;
        });
  }

  /**
   * Sends the gradients to the servers; returns when they have received them and the tensors of
   * gradients may be written again. To push and pull in one exchange, see {@link #step}.
   *
   * @throws CollectiveException for the reasons of {@link #pull}
   */
  public void push() {
    guard(
        () -> {
          client("push gradients").exchange(true, false);
          return null;
        });
  }

  /**
   * Pushes the gradients and pulls weights, in one exchange with each server.
   *
   * @throws CollectiveException for the reasons of {@link #pull}
   */
  public void step() {
    guard(
        () -> {
          client("take a step").exchange(true, true);
          return null;
        });
  }

  /**
   * Returns the number of gradients that this worker has pushed, including those before a restore:
   * after the first {@link #pull} it is the number of the next step, from 0.
   *
   * @throws CollectiveException for the reasons of {@link #pull}
   */
  public long clock() {
    return guard(() -> client("have a clock").clock());
  }

  /**
   * Makes each server write its part to its directory when all workers have reached this one's
   * clock; returns when all servers have written. In the synchronous mode they write at once, and
   * all parts are of this step; in the other modes each part also has the gradients that faster
   * workers have pushed by then, and after a restore all workers begin at this clock. Servers
   * answer no requests while they write.
   *
   * <p>One worker is enough to ask for a checkpoint; several may ask at the same clock. When the
   * next one is written, those before the last that this worker knows to be complete are deleted.
   *
   * @throws CheckpointException if a server could not write, or has no directory; training can go
   *     on
   * @throws CollectiveException for the reasons of {@link #pull}
   */
  public void checkpoint() {
    guard(
        () -> {
          client("ask for a checkpoint").checkpoint();
          return null;
        });
  }

  /**
   * Declares that this worker has no more gradients, so that the others go on without it. A worker
   * calls this once, before {@link #close}.
   *
   * @throws CollectiveException for the reasons of {@link #pull}
   */
  public void finish() {
    guard(
        () -> {
          client("finish").finish();
          hasFinished = true;
          return null;
        });
  }

  /**
   * Reads the newest checkpoint that all servers have written. All servers call this, before they
   * serve, and within the time limit of a call. If the same number of servers wrote it, each needs
   * only its own file; otherwise all files must be in the directory of each server, for example in
   * one that they share. Files of a newer step belong to a checkpoint that not all servers have
   * finished, and are deleted.
   *
   * @param directory the directory of this server
   * @return whether there was a checkpoint; if no server has a file, nothing has changed
   * @throws CheckpointException on all servers, if a file is damaged, is of another job, or parts
   *     are missing
   * @throws CollectiveException if a server is lost or does not call this
   * @throws IllegalStateException on a worker, or if this server has parameters already
   */
  public boolean restore(Path directory) {
    Shard empty = requireServer("restore parameters");
    if (empty.model != null) {
      throw new IllegalStateException(
          "rank " + group.worldRank(group.rank()) + " has parameters: restore before it serves");
    }
    Communicator all = Objects.requireNonNull(serverGroup);
    return guard(() -> Checkpoints.restore(directory, all, empty));
  }

  /** Serves without writing checkpoints; see {@link #serve(Optimizer, Path)}. */
  public void serve(Optimizer optimizer) {
    serve(optimizer, null, requireServer("serve"));
  }

  /**
   * Keeps and updates this server's part of the parameters until all workers have finished. A
   * server calls this once.
   *
   * @param optimizer the optimizer, the same on all servers and no {@link
   *     io.collectives.training.optimizer.LayerwiseOptimizer}; if parameters were restored, with
   *     the name and the number of states of the checkpoint
   * @param checkpoints the directory to write to, which is made if it is missing; servers may share
   *     one
   * @throws CollectiveException if a rank is lost, makes a mistake, aborts or is late
   * @throws CheckpointException if the directory has checkpoints of another job, or cannot be made
   * @throws IllegalStateException on a worker
   */
  public void serve(Optimizer optimizer, Path checkpoints) {
    Shard kept = requireServer("serve");
    serve(optimizer, new Checkpoints(checkpoints, kept), kept);
  }

  private void serve(Optimizer optimizer, @Nullable Checkpoints checkpoints, Shard kept) {
    CheckpointFile.checkName(optimizer.name());
    if (optimizer instanceof LayerwiseOptimizer) {
      throw new IllegalArgumentException(
          "optimizer "
              + optimizer.name()
              + " takes norms of whole layers, of which a server has a part: serve with one that"
              + " works element by element, as Optimizers.adamW, or update by a ShardedOptimizer");
    }
    if (kept.optimizer != null
        && (!kept.optimizer.equals(optimizer.name())
            || kept.state.length != optimizer.stateCount())) {
      throw new IllegalArgumentException(
          "optimizer "
              + optimizer.name()
              + " with "
              + optimizer.stateCount()
              + " numbers of state, but the parameters have "
              + kept.state.length
              + " of "
              + kept.optimizer
              + ": serve with that one");
    }
    if (checkpoints != null) {
      checkpoints.open();
    }
    guard(
        () -> {
          try {
            new Service(group, patient, workers, kept, staleness, optimizer, checkpoints).run();
          } catch (CollectiveException e) {
            throw e;
          } catch (RuntimeException | Error e) {
            group.abort("its optimizer, or its memory, has failed: " + e);
            throw e;
          }
          return null;
        });
  }

  /** Runs an action, and ends the store on all ranks with the same error if it fails. */
  private <T> T guard(Supplier<T> action) {
    if (error != null) {
      throw error;
    }
    try {
      return action.get();
    } catch (CollectiveException e) {
      error = RelayedError.original(e);
      group.abort(RelayedError.reason(error));
      throw error;
    }
  }

  /**
   * Makes a store of the ranks that are left of this job after a worker was lost, with the
   * parameters of the servers, and the tensors that workers have registered. This store is closed.
   *
   * @param left a group of ranks of this job; all of them call this, as in {@link #of}
   * @throws IllegalStateException on all ranks if a server is lost: make a new store of the ranks
   *     that are left and restore a checkpoint
   */
  public ParameterStore on(Communicator left) {
    List<Role> kept = new ArrayList<>();
    for (int rank = 0; rank < left.size(); rank++) {
      kept.add(roleOf(left.worldRank(rank)));
    }
    long serversLeft = kept.stream().filter(role -> role == Role.SERVER).count();
    if (serversLeft != servers.length) {
      throw new IllegalStateException(
          serversLeft
              + " of "
              + servers.length
              + " servers are left, and the parts of the others are lost: make a new store of the"
              + " ranks that are left, by ParameterStore.of, and restore a checkpoint");
    }
    close();
    ParameterStore next = of(left, new Roles(kept), staleness, shard);
    next.tensors.addAll(tensors);
    return next;
  }

  private Role roleOf(int worldRank) {
    for (int rank = 0; rank < group.size(); rank++) {
      if (group.worldRank(rank) == worldRank) {
        return roles.of(rank);
      }
    }
    throw new IllegalArgumentException(
        "rank "
            + worldRank
            + " was no rank of this store: make a new one for all ranks, by ParameterStore.of");
  }

  /**
   * Leaves the store; a worker that has not {@linkplain #finish() finished} counts as lost for the
   * others. Closing again does nothing.
   */
  @Override
  public void close() {
    group.close();
    if (serverGroup != null) {
      serverGroup.close();
    }
  }

  /** Returns a text with the role of this rank. */
  @Override
  public String toString() {
    return "rank "
        + group.worldRank(group.rank())
        + ", "
        + (shard == null ? "worker" : "server with " + shard)
        + " among "
        + roles
        + ", "
        + staleness;
  }
}
