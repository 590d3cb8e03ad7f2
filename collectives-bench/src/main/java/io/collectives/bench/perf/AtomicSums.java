package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.bench.model.WholeTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Each tensor whole on one dedicated server, dealt as {@link WholeTensors} says: a parameter server
 * as it was before Herring (Thangakrishnan et al. 2020, section II-A). Each server has a group with
 * all workers, in which it is the only one, and adds what comes; a worker has a call for each
 * tensor under way as soon as that is ready.
 */
final class AtomicSums implements TensorSums {
  private final List<Payload> payloads;
  private final ReduceOp op;
  private final BackwardPass backward;
  private final int[] places;

  /** The groups of which the lanes are views. */
  private final List<Communicator> groups = new ArrayList<>();

  /** A lane to each server. */
  private final List<Communicator> lanes = new ArrayList<>();

  private final @Nullable CollectiveHandle service;

  /**
   * Of these.
   *
   * @param servers how many of the group's last ranks serve; the others work
   */
  AtomicSums(
      Communicator group, int servers, ReduceOp op, List<Payload> payloads, BackwardPass backward) {
    this.payloads = payloads;
    this.op = op;
    this.backward = backward;
    int[] counts = payloads.stream().mapToInt(payload -> (int) payload.count()).toArray();
    places = WholeTensors.deal(counts, servers);
    int workers = group.size() - servers;
    boolean works = group.rank() < workers;
    for (int server = workers; server < group.size(); server++) {
      if (works || server == group.rank()) {
        int[] members = IntStream.rangeClosed(0, workers).toArray();
        members[workers] = server;
        Communicator made = group.group(members);
        groups.add(made);
        lanes.add(made.using(Algorithm.parameterServer(1, 1)));
      }
    }
    service = works ? null : lanes.get(0).serve();
    if (works) {
      meet();
    }
  }

  /** From here on a server, even one without a tensor, hears when workers leave. */
  private void meet() {
    Payload nothing = Payload.of(new float[0]);
    List<CollectiveHandle> calls =
        lanes.stream().map(lane -> lane.async().allReduce(nothing, op)).toList();
    calls.forEach(CollectiveHandle::await);
  }

  @Override
  public void run() {
    if (service != null) {
      return;
    }
    List<CollectiveHandle> calls = new ArrayList<>();
    backward.start();
    for (int i = payloads.size() - 1; i >= 0; i--) {
      backward.awaitTensor(i);
      calls.add(lanes.get(places[i]).async().allReduce(payloads.get(i), op));
    }
    calls.forEach(CollectiveHandle::await);
  }

  /** Workers leave; a server has served then. */
  @Override
  public void close() {
    if (service != null) {
      service.await();
    }
    groups.forEach(Communicator::close);
  }
}
