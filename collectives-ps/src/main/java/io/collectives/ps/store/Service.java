package io.collectives.ps.store;

import io.collectives.CallTimeoutException;
import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ProtocolException;
import io.collectives.training.optimizer.Optimizer;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The loop of a server: one thread that handles the requests of workers in the order in which they
 * arrive.
 *
 * <p>A receive for the next request of each worker is always posted, so that the first request is
 * served first and a worker that dies is noticed; the communicator's own thread moves bytes and
 * puts calls that have ended into a queue. Calls between workers and servers have no deadline of
 * the communicator, because a worker may compute for as long as it likes and may have to wait for
 * others. Instead the server looks how long a request has waited for other workers, and names the
 * one that is farthest behind.
 *
 * <p><b>Invariants.</b> For each worker there is one array for gradients. It holds a gradient from
 * its receive to the update that uses it, and in other modes than the synchronous one a copy of the
 * weights while they are sent. Weights are not written while they are being sent themselves. A push
 * is accepted only when the worker would have got weights before it; so the bound holds even for
 * workers that never pull. Hence {@code done >= clock - 1 - bound} for every worker, and since the
 * worker that is farthest behind waits for no other one, no worker waits for ever as long as that
 * one goes on.
 *
 * <p>A push whose clock the weights have in them already is received and dropped: after a failure
 * workers repeat the step of the server that was farthest behind.
 */
final class Service {
  /** Updates are made in blocks that stay in a cache. */
  private static final int BLOCK = 8192;

  private final Communicator group;
  private final Communicator patient;
  private final Shard shard;
  private final Staleness staleness;
  private final Optimizer optimizer;
  private final @Nullable Checkpoints checkpoints;
  private final Peer[] peers;
  private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();

  /** True if the weights may be sent to workers. */
  private boolean isReady;

  private Payload weights = Payload.of(new float[0]);

  /** The number of sends that read the weights themselves. */
  private int readers;

  /** The number of steps that are done in the synchronous mode. */
  private long applied;

  /**
   * The first worker whose gradient is not in the sum of this step yet, in the synchronous mode.
   */
  private int next;

  private float @Nullable [] sum;
  private int contributors;

  /**
   * @param workers their ranks in the group
   * @param patient the group with a time limit that is never reached
   */
  Service(
      Communicator group,
      Communicator patient,
      int[] workers,
      Shard shard,
      Staleness staleness,
      Optimizer optimizer,
      @Nullable Checkpoints checkpoints) {
    this.group = group;
    this.patient = patient;
    this.shard = shard;
    this.staleness = staleness;
    this.optimizer = optimizer;
    this.checkpoints = checkpoints;
    this.isReady = !shard.needsWeights();
    this.peers = new Peer[workers.length];
    for (int i = 0; i < workers.length; i++) {
      peers[i] = new Peer(workers[i], group.worldRank(workers[i]));
    }
    this.applied = staleness.isSynchronous() ? shard.clock : 0;
    for (Peer peer : peers) {
      peer.clock =
          staleness.isSynchronous()
              ? applied
              : shard.clocks.getOrDefault(peer.worldRank, shard.clock);
    }
  }

  private enum Kind {
    REQUEST,
    GRADIENT,
    SENT
  }

  /** The end of a call with a worker. */
  private record Event(Peer peer, Kind kind, @Nullable Throwable error) {}

  /** A worker as the server sees it. */
  private static final class Peer {
    final int rank;
    final int worldRank;
    final long[] request = new long[Message.REQUEST];
    final Payload requestPayload = Payload.of(request);
    final long[] answer = new long[Message.ANSWER];
    final Payload answerPayload = Payload.of(answer);
    float[] gradient = new float[0];
    Payload gradientPayload = Payload.of(gradient);

    /** The number of its gradients that are in the weights, or will be with this step. */
    long clock;

    /** The clock in its request. */
    long asked;

    /**
     * True if its gradient is to be received, once there is room for it and it is not too far
     * ahead.
     */
    boolean pushes;

    boolean isInitial;

    /** True while its gradient is received. */
    boolean isReceiving;

    /** True if its gradient of this step has arrived, in the synchronous mode. */
    boolean hasArrived;

    boolean pulls;
    boolean saves;

    /** The clock of its last checkpoint that all servers have. */
    long complete;

    boolean isSending;
    boolean readsWeights;
    boolean hasFinished;

    /** The time since which it has waited for other workers. */
    long waitingSince;

    Peer(int rank, int worldRank) {
      this.rank = rank;
      this.worldRank = worldRank;
    }

    boolean waits() {
      return pushes || pulls || saves;
    }
  }

  /** Serves until all workers have finished. */
  void run() {
    for (Peer peer : peers) {
      receiveRequest(peer);
    }
    boolean interrupted = false;
    try {
      while (!isOver()) {
        try {
          Event event = nextEvent();
          if (event != null) {
            take(event);
          }
        } catch (InterruptedException e) {
          // What is under way ends with that, and is the next event.
          interrupted = true;
          group.abort("a thread that serves parameters was interrupted");
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
      remember();
    }
  }

  private boolean isOver() {
    for (Peer peer : peers) {
      if (!peer.hasFinished || peer.isSending) {
        return false;
      }
    }
    return true;
  }

  /** Stores the clocks of workers for a store that goes on with the shard. */
  private void remember() {
    if (staleness.isSynchronous()) {
      shard.clock = applied;
    } else {
      for (Peer peer : peers) {
        shard.clocks.put(peer.worldRank, peer.clock);
      }
    }
  }

  /** Returns a call that has ended, or null if a worker has waited too long. */
  private @Nullable Event nextEvent() throws InterruptedException {
    Peer longest = null;
    for (Peer peer : peers) {
      if (peer.waits() && (longest == null || peer.waitingSince - longest.waitingSince < 0)) {
        longest = peer;
      }
    }
    if (longest == null) {
      return events.take();
    }
    long limit = group.settings().timeout().toNanos();
    long left = longest.waitingSince + limit - System.nanoTime();
    Event event = events.poll(Math.max(0, left), TimeUnit.NANOSECONDS);
    if (event == null) {
      throw tooLate(longest);
    }
    return event;
  }

  private CallTimeoutException tooLate(Peer waiting) {
    Peer culprit = isReady ? farthestBehind() : peers[0];
    return new CallTimeoutException(
        "rank "
            + waiting.worldRank
            + " waited "
            + group.settings().timeout().toMillis()
            + " ms at step "
            + waiting.asked
            + " ("
            + staleness
            + ") for rank "
            + culprit.worldRank
            + (isReady
                ? ", which has pushed " + culprit.clock + " gradients"
                : ", which has not told the first weights"),
        culprit.worldRank);
  }

  private Peer farthestBehind() {
    Peer found = peers[0];
    for (Peer peer : peers) {
      if (found.hasFinished || !peer.hasFinished && peer.clock < found.clock) {
        found = peer;
      }
    }
    return found;
  }

  private void take(Event event) {
    Throwable error = event.error;
    if (error != null) {
      Throwable cause =
          error instanceof CompletionException && error.getCause() != null
              ? error.getCause()
              : error;
      throw cause instanceof CollectiveException known
          ? known
          : new IllegalStateException("a call with rank " + event.peer.worldRank, cause);
    }
    switch (event.kind) {
      case REQUEST -> request(event.peer);
      case GRADIENT -> received(event.peer);
      case SENT -> {
        event.peer.isSending = false;
        if (event.peer.readsWeights) {
          event.peer.readsWeights = false;
          readers--;
        }
      }
    }
    if (staleness.isSynchronous()) {
      addUp();
    }
    for (Peer peer : peers) {
      advance(peer);
    }
  }

  private void request(Peer peer) {
    int kind = (int) peer.request[0];
    peer.asked = peer.request[1];
    peer.waitingSince = System.nanoTime();
    switch (kind) {
      case Message.HELLO -> hello(peer);
      case Message.INITIAL -> {
        peer.pushes = true;
        peer.isInitial = true;
      }
      case Message.PUSH -> peer.pushes = true;
      case Message.PULL -> peer.pulls = true;
      case Message.PUSH | Message.PULL -> {
        peer.pushes = true;
        peer.pulls = true;
      }
      case Message.CHECKPOINT -> {
        peer.saves = true;
        peer.complete = peer.request[2];
      }
      case Message.FINISH -> peer.hasFinished = true;
      default ->
          throw new ProtocolException(
              "rank " + peer.worldRank + " asks for what there is not: " + kind);
    }
    // Behind gradients comes the next request; that receive is posted after theirs.
    if (!peer.pushes && !peer.hasFinished) {
      receiveRequest(peer);
    }
  }

  private void hello(Peer peer) {
    Model model = new Model(peer.request[1], (int) peer.request[3], peer.request[2]);
    Staleness theirs = new Staleness((int) peer.request[4]);
    peer.asked = 0;
    if (!theirs.equals(staleness)) {
      throw new MismatchException(
          "rank "
              + peer.worldRank
              + " trains with staleness "
              + theirs
              + ", server rank "
              + group.worldRank(group.rank())
              + " with "
              + staleness
              + ": all ranks must pass the same");
    }
    Model known = shard.model;
    if (known == null) {
      shard.allocate(model, optimizer.name(), optimizer.stateCount());
    } else if (!known.equals(model)) {
      boolean sameCounts = known.count() == model.count() && known.tensors() == model.tensors();
      throw new MismatchException(
          "rank "
              + peer.worldRank
              + " trains "
              + model
              + ", server rank "
              + group.worldRank(group.rank())
              + (shard.isRestored ? " has restored " : " was told of ")
              + known
              + (sameCounts ? ", with other names or counts" : "")
              + ": register the same tensors in the same order on all workers");
    }
    if (weights.count() != shard.weights.length) {
      weights = Payload.of(shard.weights);
    }
    peer.gradient = new float[shard.weights.length];
    peer.gradientPayload = Payload.of(peer.gradient);
    peer.answer[0] = peer.clock;
    peer.answer[1] = peer == peers[0] && !isReady ? 1 : 0;
    send(peer, peer.answerPayload);
  }

  private void received(Peer peer) {
    peer.isReceiving = false;
    if (peer.isInitial) {
      peer.isInitial = false;
      isReady = true;
    } else if (peer.asked > peer.clock) {
      peer.clock = peer.asked;
      if (staleness.isSynchronous()) {
        peer.hasArrived = true;
      } else {
        shard.updates++;
        update(peer.gradient, 1);
      }
    }
  }

  /**
   * Adds the gradients that have arrived, in the order of workers, and ends the step when all have
   * arrived.
   */
  private void addUp() {
    while (next < peers.length && (peers[next].hasArrived || peers[next].hasFinished)) {
      Peer peer = peers[next++];
      if (peer.hasArrived) {
        contributors++;
        if (sum == null) {
          sum = peer.gradient;
        } else {
          add(sum, peer.gradient);
        }
      }
    }
    if (next == peers.length && sum != null && readers == 0) {
      applied++;
      shard.updates++;
      update(sum, contributors);
      for (Peer peer : peers) {
        peer.hasArrived = false;
      }
      sum = null;
      contributors = 0;
      next = 0;
    }
  }

  private static void add(float[] sum, float[] gradient) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += gradient[i];
    }
  }

  private void update(float[] gradient, int divisor) {
    int to;
    for (int from = 0; from < gradient.length; from = to) {
      to = from + Math.min(BLOCK, gradient.length - from);
      if (divisor > 1) {
        divide(gradient, from, to, divisor);
      }
      optimizer.update(shard.weights, gradient, shard.state, from, to, shard.updates);
    }
  }

  private static void divide(float[] gradient, int from, int to, int divisor) {
    for (int i = from; i < to; i++) {
      gradient[i] /= divisor;
    }
  }

  /** Returns the number of steps that all remaining workers have done and the weights contain. */
  private long done() {
    if (staleness.isSynchronous()) {
      return applied;
    }
    long least = Long.MAX_VALUE;
    for (Peer peer : peers) {
      if (!peer.hasFinished) {
        least = Math.min(least, peer.clock);
      }
    }
    return least;
  }

  /** Continues the request of a worker as far as possible. */
  private void advance(Peer peer) {
    long done = done();
    boolean hasRoom =
        !peer.isReceiving && !peer.hasArrived && !(peer.isSending && !peer.readsWeights);
    if (peer.pushes && hasRoom && (peer.isInitial || isInTime(done, peer.asked - 1))) {
      peer.pushes = false;
      peer.isReceiving = true;
      Payload where = peer.isInitial ? weights : peer.gradientPayload;
      watch(peer, Kind.GRADIENT, patient.async().receive(where, peer.rank));
      receiveRequest(peer);
    }
    boolean mayAnswer = !peer.pushes && !peer.isReceiving && !peer.isSending;
    if (peer.pulls && mayAnswer && isInTime(done, peer.asked)) {
      peer.pulls = false;
      sendWeights(peer);
    } else if (peer.saves && mayAnswer && isReady && done >= peer.asked) {
      peer.saves = false;
      save(peer);
    }
  }

  private boolean isInTime(long done, long clock) {
    return isReady && done >= clock - staleness.bound();
  }

  private void sendWeights(Peer peer) {
    if (staleness.isSynchronous()) {
      peer.readsWeights = true;
      readers++;
      send(peer, weights);
    } else {
      // Other updates may come while this is on its way.
      System.arraycopy(shard.weights, 0, peer.gradient, 0, peer.gradient.length);
      send(peer, peer.gradientPayload);
    }
  }

  private void save(Peer peer) {
    String error = null;
    if (checkpoints == null) {
      error = "it was given no directory: pass one to serve(optimizer, directory)";
    } else {
      try {
        checkpoints.write(peer.asked, peer.complete);
      } catch (CheckpointException e) {
        error = e.getMessage();
      }
    }
    Message.putError(peer.answer, error);
    send(peer, peer.answerPayload);
  }

  private void receiveRequest(Peer peer) {
    watch(peer, Kind.REQUEST, patient.async().receive(peer.requestPayload, peer.rank));
  }

  private void send(Peer peer, Payload payload) {
    peer.isSending = true;
    watch(peer, Kind.SENT, patient.async().send(payload, peer.rank));
  }

  private void watch(Peer peer, Kind kind, CollectiveHandle handle) {
    handle.whenComplete((nothing, error) -> events.add(new Event(peer, kind, error)));
  }
}
