import java.util.Map;
import ml.dmlc.xgboost4j.java.Communicator;
import ml.dmlc.xgboost4j.java.Communicator.OpType;
import ml.dmlc.xgboost4j.java.RabitTracker;

/**
 * Rabit, the all-reduce of XGBoost, by its Java interface, which copies the input and allocates the result. It has no
 * barrier; a sum of one element is one.
 */
final class RabitPeer extends AllReducePeer {
  private static final int SECONDS = 60;
  private float[] input = {};
  private float[] output = {};

  public static void main(String[] args) throws Exception {
    int port = number("MASTER_PORT");
    RabitTracker tracker = null;
    if (number("RANK") == 0) {
      tracker = new RabitTracker(number("WORLD_SIZE"), "127.0.0.1", port, SECONDS);
      tracker.start();
    }
    Communicator.init(
        Map.of("dmlc_tracker_uri", "127.0.0.1", "dmlc_tracker_port", port, "dmlc_retry", SECONDS));
    new RabitPeer().serve();
    Communicator.shutdown();
    if (tracker != null) {
      tracker.waitFor(SECONDS);
    }
  }

  /** Rabit gives ranks as processes come. */
  @Override
  int rank() {
    try {
      return Communicator.getRank();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  int size() {
    return number("WORLD_SIZE");
  }

  @Override
  void fill(int count) {
    input = new float[count];
    for (int i = 0; i < count; i++) {
      input[i] = i % 13 + rank();
    }
  }

  @Override
  void allReduce() {
    output = Communicator.allReduce(input, OpType.SUM);
  }

  @Override
  float[] result() {
    return output;
  }

  @Override
  void barrier() {
    Communicator.allReduce(new float[1], OpType.SUM);
  }

  @Override
  float[] greatest(float[] values) {
    return Communicator.allReduce(values, OpType.MAX);
  }
}
