package io.collectives.ps.store;

import io.collectives.CallTimeoutException;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.Payload;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The worker's side of a {@link ParameterStore}. It exchanges messages with all servers at once,
 * each about its own part, and waits until all have answered.
 */
final class Client {
  private final Communicator patient;
  private final int[] servers;
  private final Duration limit;
  private final Model model;
  private final Payload[] weights;
  private final Payload[] gradients;
  private final long[] request = new long[Message.REQUEST];
  private final Payload requestPayload = Payload.of(request);
  private final long[][] answers;
  private final Payload[] answerPayloads;

  /** The calls under way; {@link #partners} has the server of each. */
  private final List<CollectiveHandle> handles = new ArrayList<>();

  private final List<Integer> partners = new ArrayList<>();
  private long clock;

  /** The clock of the last checkpoint that all servers have written. */
  private long complete;

  /**
   * Makes a client.
   *
   * @param patient the group with a time limit that is never reached
   * @param servers the ranks of the servers in it
   * @param limit the time to wait for an answer
   */
  Client(
      Communicator patient,
      int[] servers,
      Duration limit,
      Model model,
      Payload weights,
      Payload gradients) {
    this.patient = patient;
    this.servers = servers;
    this.limit = limit;
    this.model = model;
    this.weights = parts(model, weights, servers.length);
    this.gradients = parts(model, gradients, servers.length);
    this.answers = new long[servers.length][Message.ANSWER];
    this.answerPayloads = new Payload[servers.length];
    for (int i = 0; i < servers.length; i++) {
      answerPayloads[i] = Payload.of(answers[i]);
    }
  }

  private static Payload[] parts(Model model, Payload all, int parts) {
    Payload[] slices = new Payload[parts];
    for (int part = 0; part < parts; part++) {
      slices[part] = all.slice(model.start(part, parts), model.partCount(part, parts));
    }
    return slices;
  }

  long clock() {
    return clock;
  }

  /**
   * Sends the servers a description of the model, and the first weights to those that need them.
   */
  void begin(Staleness staleness) {
    ask(Message.HELLO, model.count(), model.digest(), model.tensors(), staleness.bound());
    awaitAnswers();
    clock = Long.MAX_VALUE;
    boolean[] wanted = new boolean[servers.length];
    for (int i = 0; i < servers.length; i++) {
      clock = Math.min(clock, answers[i][0]);
      wanted[i] = answers[i][1] != 0;
    }
    complete = 0;
    set(Message.INITIAL, clock, 0, 0, 0);
    for (int i = 0; i < servers.length; i++) {
      if (wanted[i]) {
        watch(i, patient.async().send(requestPayload, servers[i]));
        watch(i, patient.async().send(weights[i], servers[i]));
      }
    }
    awaitAll();
  }

  /** Sends all servers a gradient, or receives weights from them, or both. */
  void exchange(boolean pushes, boolean pulls) {
    if (pushes) {
      clock++;
    }
    ask((pushes ? Message.PUSH : 0) | (pulls ? Message.PULL : 0), clock, 0, 0, 0);
    for (int i = 0; i < servers.length; i++) {
      if (pushes) {
        watch(i, patient.async().send(gradients[i], servers[i]));
      }
      if (pulls) {
        watch(i, patient.async().receive(weights[i], servers[i]));
      }
    }
    awaitAll();
  }

  void checkpoint() {
    ask(Message.CHECKPOINT, clock, complete, 0, 0);
    awaitAnswers();
    for (int i = 0; i < servers.length; i++) {
      String error = Message.error(answers[i]);
      if (error != null) {
        throw new CheckpointException(
            "server rank "
                + patient.worldRank(servers[i])
                + " has written no checkpoint: "
                + error);
      }
    }
    complete = clock;
  }

  void finish() {
    ask(Message.FINISH, clock, 0, 0, 0);
    awaitAll();
  }

  private void set(long kind, long first, long second, long third, long fourth) {
    request[0] = kind;
    request[1] = first;
    request[2] = second;
    request[3] = third;
    request[4] = fourth;
  }

  private void ask(long kind, long first, long second, long third, long fourth) {
    set(kind, first, second, third, fourth);
    for (int i = 0; i < servers.length; i++) {
      watch(i, patient.async().send(requestPayload, servers[i]));
    }
  }

  private void awaitAnswers() {
    for (int i = 0; i < servers.length; i++) {
      watch(i, patient.async().receive(answerPayloads[i], servers[i]));
    }
    awaitAll();
  }

  private void watch(int server, CollectiveHandle handle) {
    handles.add(handle);
    partners.add(server);
  }

  /**
   * Waits for all servers. Servers decide which worker is late; if a server is stuck itself, this
   * worker names it.
   */
  private void awaitAll() {
    long deadline = System.nanoTime() + limit.toNanos();
    try {
      for (int i = 0; i < handles.size(); i++) {
        long left = Math.max(0, deadline - System.nanoTime());
        if (!handles.get(i).await(Duration.ofNanos(left))) {
          int culprit = patient.worldRank(servers[partners.get(i)]);
          throw new CallTimeoutException(
              "rank "
                  + patient.worldRank(patient.rank())
                  + " waited "
                  + limit.toMillis()
                  + " ms at step "
                  + clock
                  + " for server rank "
                  + culprit
                  + ", which does not answer",
              culprit);
        }
      }
    } finally {
      handles.clear();
      partners.clear();
    }
  }
}
