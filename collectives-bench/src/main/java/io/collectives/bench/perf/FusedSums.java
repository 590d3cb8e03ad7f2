package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.BufferReduction;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.bench.model.Tensor;
import io.collectives.ps.ParameterServers;
import io.collectives.ps.Role;
import io.collectives.ps.Roles;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** By a gradient reducer; with dedicated servers, by parameter servers of balanced buffers. */
final class FusedSums implements TensorSums {
  private final BackwardPass backward;
  private final @Nullable ParameterServers servers;
  private final @Nullable Thread serving;
  private final @Nullable GradientReducer reducer;
  private final List<GradientReducer.Tensor> registered = new ArrayList<>();

  /**
   * Of these.
   *
   * @param algorithm by which the group sums
   * @param tensors as many as payloads; their names and the number of lanes count
   */
  FusedSums(
      Communicator group,
      Algorithm algorithm,
      ReduceOp op,
      ModelTensors tensors,
      List<Payload> payloads,
      BackwardPass backward) {
    this.backward = backward;
    servers = servers(group, algorithm, tensors.lanes());
    if (servers == null) {
      serving = null;
      reducer =
          GradientReducer.of(
              group,
              FusionSettings.defaults().withOp(op).withEnvironment(),
              BufferReduction.allReduce(group, tensors.lanes()));
    } else if (servers.isWorker()) {
      serving = null;
      FusionSettings balanced = FusionSettings.balancedBuffers().withOp(op);
      reducer = GradientReducer.of(servers.workers(), balanced, servers.reduction());
    } else {
      // What it throws, the workers get as well.
      serving = new Thread(servers::serve, "perf-server" + group.rank());
      serving.setDaemon(true);
      serving.start();
      reducer = null;
    }
    if (reducer != null) {
      List<Tensor> named = tensors.model().tensors();
      for (int i = 0; i < named.size(); i++) {
        registered.add(reducer.register(named.get(i).name(), payloads.get(i)));
      }
    }
  }

  /** With dedicated servers, which take part in what the workers' reducers do. */
  private static @Nullable ParameterServers servers(
      Communicator group, Algorithm wanted, int lanes) {
    if (wanted instanceof Algorithm.ParameterServer algorithm && algorithm.dedicated() > 0) {
      int workers = group.size() - algorithm.dedicated();
      List<Role> roles = new ArrayList<>();
      for (int rank = 0; rank < group.size(); rank++) {
        roles.add(
            rank >= workers ? Role.SERVER : rank < algorithm.shared() ? Role.BOTH : Role.WORKER);
      }
      List<Integer> hosts = algorithm.hosts();
      return ParameterServers.of(
          group,
          hosts.isEmpty()
              ? new Roles(roles)
              : new Roles(roles, hosts.stream().map(hosts::indexOf).toList()),
          lanes);
    }
    return null;
  }

  @Override
  public void run() {
    if (reducer != null) {
      backward.start();
      for (int i = registered.size() - 1; i >= 0; i--) {
        backward.awaitTensor(i);
        reducer.ready(registered.get(i));
      }
      reducer.await();
    }
  }

  @Override
  public void close() {
    if (reducer != null) {
      reducer.close();
    }
    try {
      if (serving != null) {
        serving.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (servers != null) {
      servers.close();
    }
  }
}
