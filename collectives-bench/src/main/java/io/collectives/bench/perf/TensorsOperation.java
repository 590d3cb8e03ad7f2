package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import java.util.ArrayList;
import java.util.List;

/** An all-reduce of many tensors. */
final class TensorsOperation extends Operation {
  private final List<Elements> elements = new ArrayList<>();

  /** All of them as one, where they lie. */
  private final Payload all;

  private final TensorSums sums;

  TensorsOperation(Communicator group, PerfCase work, ModelTensors tensors) {
    super(group, work);
    int[] counts = tensors.counts();
    List<Payload> payloads = new ArrayList<>();
    for (int count : counts) {
      Elements made = elements(count, count);
      elements.add(made);
      payloads.add(made.payload());
    }
    all = Payload.of(payloads);
    sums = sums(tensors, payloads, new BackwardPass(counts, tensors.backwardNanos()));
  }

  private TensorSums sums(ModelTensors tensors, List<Payload> payloads, BackwardPass backward) {
    Algorithm algorithm = work.algorithm().forRanks(group.size());
    return switch (tensors.way()) {
      case FUSED ->
          new FusedSums(group, algorithm, work.operand().op(), tensors, payloads, backward);
      case EACH ->
          () -> {
            backward.start();
            for (int i = payloads.size() - 1; i >= 0; i--) {
              backward.awaitTensor(i);
              group.allReduce(payloads.get(i), work.operand().op());
            }
          };
      case ONE ->
          () -> {
            backward.start();
            backward.awaitEnd();
            group.allReduce(all, work.operand().op());
          };
      case COPIED -> copied(payloads, backward);
      case ATOMIC ->
          new AtomicSums(
              group, group.size() - work.contributors(), work.operand().op(), payloads, backward);
      case NEGOTIATED -> new NegotiatedSums(group, work.operand().op(), payloads, backward);
    };
  }

  private TensorSums copied(List<Payload> payloads, BackwardPass backward) {
    List<Payload.OfArray> arrays = payloads.stream().map(Payload.OfArray.class::cast).toList();
    float[] copy = new float[work.operand().count()];
    return () -> {
      backward.start();
      backward.awaitEnd();
      TensorCopies.copyTo(copy, arrays);
      group.allReduce(copy, work.operand().op());
      TensorCopies.copyFrom(copy, arrays);
    };
  }

  @Override
  void fill() {
    long first = 0;
    for (Elements tensor : elements) {
      fill(tensor, group.rank(), first);
      first += tensor.count();
    }
  }

  @Override
  void call() {
    sums.run();
  }

  @Override
  PersistentCall prepare() {
    return group.prepared().allReduce(all, work.operand().op());
  }

  @Override
  long negotiationMessages() {
    return sums.negotiationMessages();
  }

  @Override
  long wrong() {
    long wrong = 0;
    long first = 0;
    for (Elements tensor : contributes() ? elements : List.<Elements>of()) {
      wrong +=
          tensor.wrongReduction(
              work.operand().seed(), work.contributors(), first, work.operand().op());
      first += tensor.count();
    }
    return wrong;
  }

  @Override
  public void close() {
    try {
      sums.close();
    } finally {
      super.close();
    }
  }
}
