package io.collectives.bench.digits;

import io.collectives.BufferReduction;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.util.stream.IntStream;

/** A reduction by all-reduces without error feedback, to tell what error feedback is good for. */
final class ForgetfulReduction implements BufferReduction {
  private final Communicator group;

  ForgetfulReduction(Communicator group) {
    this.group = group.group(IntStream.range(0, group.size()).toArray());
  }

  @Override
  public int lanes() {
    return 1;
  }

  @Override
  public CollectiveHandle reduce(int index, Payload buffer, ReduceOp op) {
    return group.async().allReduce(buffer, op);
  }

  @Override
  public void abort(String reason) {
    group.abort(reason);
  }

  @Override
  public void close() {
    group.close();
  }
}
