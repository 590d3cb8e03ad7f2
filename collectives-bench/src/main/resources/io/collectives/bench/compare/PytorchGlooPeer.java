import java.nio.file.Path;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.AllreduceOptions;
import org.bytedeco.pytorch.FileStore;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.ReduceOp;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch;

/**
 * Gloo by torch.distributed's process group, through JavaCPP. Argument: a directory to meet in; without
 * one the program unpacks what it would load, and ends.
 */
final class PytorchGlooPeer extends AllReducePeer {
  private final ProcessGroupGloo group;
  private Tensor data = new Tensor();

  private PytorchGlooPeer(ProcessGroupGloo group) {
    this.group = group;
  }

  public static void main(String[] args) throws Exception {
    Loader.load(torch.class);
    if (args.length == 0) {
      return;
    }
    int size = number("WORLD_SIZE");
    ProcessGroupGloo.Options options = ProcessGroupGloo.Options.create();
    options.devices().push_back(ProcessGroupGloo.createDeviceForHostname("127.0.0.1"));
    FileStore store = new FileStore(Path.of(args[0], "store").toString(), size);
    new PytorchGlooPeer(new ProcessGroupGloo(store, number("RANK"), size, options)).serve();
    System.exit(0);
  }

  @Override
  int rank() {
    return number("RANK");
  }

  @Override
  int size() {
    return number("WORLD_SIZE");
  }

  @Override
  void fill(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = i % 13 + rank();
    }
    data.close();
    data = tensor(values);
  }

  private static Tensor tensor(float[] values) {
    Tensor tensor = torch.zeros(values.length);
    new FloatPointer(tensor.data_ptr()).put(values);
    return tensor;
  }

  private static float[] values(Tensor tensor) {
    float[] values = new float[Math.toIntExact(tensor.numel())];
    new FloatPointer(tensor.data_ptr()).get(values);
    return values;
  }

  @Override
  void allReduce() {
    reduce(data, ReduceOp.RedOpType.SUM);
  }

  private void reduce(Tensor tensor, ReduceOp.RedOpType op) {
    try (TensorVector tensors = new TensorVector(tensor);
        ReduceOp reduce = new ReduceOp(op);
        AllreduceOptions options = new AllreduceOptions().reduceOp(reduce);
        Work work = group.allreduce(tensors, options)) {
      work._wait();
    }
  }

  @Override
  float[] result() {
    return values(data);
  }

  @Override
  void barrier() {
    try (Work work = group.barrier()) {
      work._wait();
    }
  }

  @Override
  float[] greatest(float[] values) {
    try (Tensor tensor = tensor(values)) {
      reduce(tensor, ReduceOp.RedOpType.MAX);
      return values(tensor);
    }
  }
}
