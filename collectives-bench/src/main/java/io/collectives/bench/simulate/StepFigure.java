package io.collectives.bench.simulate;

import io.collectives.ElementType;
import io.collectives.Mesh;
import io.collectives.bench.model.ForwardWork;
import io.collectives.bench.model.Model;
import io.collectives.bench.model.Tensor;
import io.collectives.ps.ParameterServers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The figures of papers that are about whole steps: what is modelled, what is assumed because the
 * papers do not say it, and the numbers that they print.
 */
public enum StepFigure {
  /** The share of the all-reduce in steps of ResNet-50. */
  KUMAR_6(
      "Kumar et al. 2021, figure 6: the all-reduce as a share of a step of ResNet-50",
      "% in all-reduces",
      List.of(
          "Assumed: 45 % of the chip's 105 TFLOP/s is reached, by which 4,096 chips have the"
              + " paper's share.",
          "Assumed: 70GB/s and 1us on a link, pods=5us,35GB/s; gradients and weights in float32;"
              + " nothing overlaps.",
          "Assumed: LARS moves 20 bytes a parameter at 900 GB/s, divided by the chips, and needs"
              + " one small all-reduce.",
          "The batch of a chip is 256 up to 256 chips, then 65,536 in all; the paper gives those"
              + " of 16 and 4,096 chips.",
          "Efficiency is what chips would have to reach for the paper's number, all else being"
              + " equal.",
          "The paper's table 1 (0.48 minutes, 88 epochs) leaves at most 16.7 ms a step, so that"
              + " at least 29 % is reached.")),

  /** The share of the all-reduce in steps of BERT. */
  KUMAR_8(
      "Kumar et al. 2021, figure 8: the all-reduce as a share of a step of BERT",
      "% in all-reduces",
      List.of(
          "Assumed: 64 % of the chip's 105 TFLOP/s is reached, by which 4,096 chips have the"
              + " paper's share: large matrices keep them busier than the convolutions of"
              + " ResNet-50.",
          "Assumed: 70GB/s and 1us on a link, pods=5us,35GB/s; 512 tokens a sample; gradients and"
              + " weights in bfloat16; nothing overlaps.",
          "Assumed: LAMB moves 28 bytes a parameter at 900 GB/s, divided by the chips, and needs"
              + " two small all-reduces.",
          "The batch of a chip is 48 up to 170 chips, then 8,192 in all; the paper says 2 for"
              + " 4,096 chips and 4 to 48 elsewhere.",
          "Efficiency is what chips would have to reach for the paper's number, all else being"
              + " equal.",
          "The shares of BERT are larger than those of ResNet-50 at every size, as the paper"
              + " says.")),

  /** Scaling of BERT-large over 64 to 512 GPUs. */
  HERRING_11(
      "Thangakrishnan et al. 2020 (Herring), figure 11: BERT-large on 64 to 512 GPUs",
      "% of linear",
      List.of(
          "A host's 8 GPUs compute 1,143 samples a second, by DistributedDataParallel 1,276 (the"
              + " paper's section IV-B); a third of it is the forward pass; the update counts as"
              + " computing.",
          "Assumed: gradients in float16; 15us between hosts, 2us and 130GB/s within one; 16"
              + " slabs.",
          "Assumed: NCCL's trees fill 70 of a NIC's 100Gbit/s, as the paper says of one endpoint;"
              + " a call costs 61us for each GPU, which are the 3.9 ms of table I; 64 MiB buffers.",
          "Assumed: while a call of Horovod is under way, the backward pass stands still, as"
              + " table I shows; by DistributedDataParallel a quarter of it does, and by"
              + " Herring none or three quarters, by which 64 GPUs reach what the paper says.",
          "Herring's calls take what table V says of 100 MB, so they fill 59 to 49 of a NIC's"
              + " 100Gbit/s.",
          "Exposed is how much longer a step is than its computing, ours, and for the paper's"
              + " number.",
          "Not in the model: slow ranks, copies between GPU and host, barriers within a host. The"
              + " paper says that Herring hides most of its calls; then they must take the rest.")),

  /** Step times of BERT-large by the length of fusion buffers. */
  HERRING_I(
      "Thangakrishnan et al. 2020 (Herring), table I: steps of BERT-large on 64 GPUs by threshold",
      "ms a step",
      List.of(
          "Assumed: as herring-11, by NCCL's trees; a host's GPUs compute 1,143 samples a second.",
          "From 1 call to 28 the paper's steps grow by 106 ms, 3.9 ms a call, which is 61us for"
              + " each GPU: that is assumed, the rest is the model's.",
          "Cost is what a call would have to cost beside its transfers for the paper's number, all"
              + " else being equal; for one call it says how far the rest is off."));

  private static final double PEAK_FLOPS_PER_NANO = 105_000;
  private static final double MEMORY_BYTES_PER_NANO = 900;
  private static final int GPUS = 8;
  private static final int HERRING_BATCH = 64;
  private static final int BUFFER = 64 << 20;

  /** By this 64 GPUs have the share of linear that Herring's paper prints for them. */
  private static final double DDP_CONTENTION = 0.25;

  /** By this the same is so for Herring itself. */
  private static final double HERRING_CONTENTION = 0.75;

  /** A call's cost by table I of Herring: 27 calls more take 106 ms longer, with 64 GPUs. */
  private static final CallPrices.CallCost CALL_COST =
      new CallPrices.CallCost(0, (820 - 714) * 1e6 / 27 / 64);

  /** The milliseconds of 100 MB by table V of Herring, of 64, 128, 256 and 512 GPUs. */
  private static final double[] AVERAGING = {13.457, 14.21, 15.237, 16.449};

  private final String title;
  private final String unit;
  private final List<String> notes;

  StepFigure(String title, String unit, List<String> notes) {
    this.title = title;
    this.unit = unit;
    this.notes = notes;
  }

  /**
   * A modelled step.
   *
   * @param label what is special about it
   * @param model of the step
   * @param means by which it is made shorter
   * @param batch the samples of a rank
   * @param paper what the paper prints; NaN if nothing
   */
  public record Case(
      String label, StepModel model, StepModel.Means means, int batch, double paper) {

    /** Models the step. */
    public Step run() {
      return model.step(means);
    }
  }

  /** Returns a line for people: the paper, its figure, and the subject. */
  public String title() {
    return title;
  }

  /** Returns the unit of {@link #figure} and of what the paper prints. */
  public String unit() {
    return unit;
  }

  /** Returns the assumptions, and the paper's words, a line each. */
  public List<String> notes() {
    return notes;
  }

  /** Returns the figure of a step that the paper prints. */
  public double figure(Case each, Step step) {
    return switch (this) {
      case KUMAR_6, KUMAR_8 -> 100 * step.share(step.exposedNanos());
      case HERRING_11 -> 100 * each.model().compute().nanos() / step.nanos();
      case HERRING_I -> step.nanos() / 1e6;
    };
  }

  /** Returns the constant that would make the model say what the paper prints, for people. */
  public String needed(Case each, Step step) {
    double paper = each.paper();
    double computing = step.nanos() - step.exposedNanos();
    return switch (this) {
      case KUMAR_6, KUMAR_8 -> {
        double wanted = step.exposedNanos() * (100 - paper) / paper;
        yield String.format(
            Locale.ROOT, "efficiency %.0f %%", 100 * efficiency() * computing / wanted);
      }
      case HERRING_11 ->
          String.format(
              Locale.ROOT,
              "exposed %.0f, not %.0f ms",
              (computing * 100 / paper - computing) / 1e6,
              step.exposedNanos() / 1e6);
      case HERRING_I ->
          String.format(
              Locale.ROOT, "cost %.1f ms", (paper - step.nanos() / 1e6) / step.calls().size());
    };
  }

  /** All cases, in the order in which they are printed. */
  public List<Case> cases() {
    return switch (this) {
      case KUMAR_6 -> kumar(Model.RESNET50, ElementType.FLOAT32, 256, 65_536, 22);
      case KUMAR_8 -> kumar(Model.BERT_LARGE, ElementType.BFLOAT16, 48, 8192, 27.3);
      case HERRING_11 -> herringScaling();
      case HERRING_I -> herringThresholds();
    };
  }

  /** Returns the part of a chip's peak that a model of Kumar et al. is assumed to reach. */
  private double efficiency() {
    return this == KUMAR_8 ? 0.64 : 0.45;
  }

  private List<Case> kumar(Model model, ElementType type, int most, int all, double paper) {
    Fabric pods =
        new Fabric(
            new Wire(1000, 1 / 70.0),
            List.of(Fabric.Other.parse("pods=5us,35GB/s")),
            Optional.of(Mesh.torus(32, 32)),
            Hosts.NONE);
    boolean isBert = model == Model.BERT_LARGE;
    double[] work = ForwardWork.of(model, 512);
    double sampleNanos = Arrays.stream(work).sum() / PEAK_FLOPS_PER_NANO / efficiency();
    double updateNanos = model.parameters() * (isBert ? 28 : 20) / MEMORY_BYTES_PER_NANO;
    StepModel.Means means = new StepModel.Means(StepModel.Fusion.ONE, false, true, 0);
    List<Case> cases = new ArrayList<>();
    for (Size mesh : Size.parse("4x4,8x8,16x16,32x32,128x32")) {
      int batch = Math.min(most, all / mesh.ranks());
      StepModel.Backward backward =
          StepModel.Backward.of(type, counts(model), work, 2 * batch * sampleNanos);
      StepModel.Compute compute =
          new StepModel.Compute(backward, batch * sampleNanos, updateNanos, 0, isBert ? 2 : 1);
      CallPrices prices =
          new CallPrices(
              List.of("hierarchical"), mesh.wrapped(false, true), pods, CallPrices.Software.NONE);
      double known = mesh.ranks() == 4096 ? paper : Double.NaN;
      cases.add(new Case("sharded", new StepModel(compute, prices), means, batch, known));
    }
    return cases;
  }

  private static List<Case> herringScaling() {
    List<Case> cases = new ArrayList<>();
    double[] horovod = {65, Double.NaN, Double.NaN, 85 / 1.78};
    double[] parallel = {80, Double.NaN, Double.NaN, 56};
    for (double contention : new double[] {0, HERRING_CONTENTION}) {
      for (int i = 0; i < 4; i++) {
        StepModel model = servers(i);
        long length =
            ParameterServers.bufferLength(model.compute().backward().bytes(), 8 << i).bytes();
        StepModel.Fusion balanced = new StepModel.Fusion(length, length, true, 2);
        StepModel.Means means = new StepModel.Means(balanced, true, false, contention);
        cases.add(new Case("Herring" + held(contention), model, means, HERRING_BATCH, 85));
      }
    }
    for (int i = 0; i < 4; i++) {
      StepModel model = trees(GPUS << (3 + i), 1276);
      StepModel.Means means = held(BUFFER, DDP_CONTENTION);
      String label = "DDP" + held(DDP_CONTENTION);
      cases.add(new Case(label, model, means, HERRING_BATCH, parallel[i]));
    }
    for (int i = 0; i < 4; i++) {
      StepModel model = trees(GPUS << (3 + i), 1143);
      StepModel.Means means = held(BUFFER, 1);
      cases.add(new Case("Horovod" + held(1), model, means, HERRING_BATCH, horovod[i]));
    }
    return cases;
  }

  private static String held(double contention) {
    return contention == 0 ? "" : String.format(Locale.ROOT, ", %.0f %% held", 100 * contention);
  }

  private static List<Case> herringThresholds() {
    StepModel model = trees(64, 1143);
    int[] megabytes = {680, 200, 50, 25};
    double[] paper = {714, 720, 769, 820};
    List<Case> cases = new ArrayList<>();
    for (int i = 0; i < paper.length; i++) {
      StepModel.Means means = held(megabytes[i] * 1_000_000, 1);
      cases.add(new Case(megabytes[i] + " MB", model, means, HERRING_BATCH, paper[i]));
    }
    return cases;
  }

  /** A part of computing stands still while a buffer of at most so many bytes is reduced. */
  private static StepModel.Means held(int length, double contention) {
    return new StepModel.Means(
        new StepModel.Fusion(length, length, false, 1), true, false, contention);
  }

  /** Returns a model of Herring with 64 GPUs, or so often twice as many. */
  private static StepModel servers(int doublings) {
    double nanosPerByte = AVERAGING[doublings] / 100;
    return herring(
        "dedicated-servers", nanosPerByte, GPUS << (3 + doublings), 1143, CallPrices.CallCost.NONE);
  }

  private static StepModel trees(int gpus, int samplesOfHostPerSecond) {
    return herring("hierarchical-tree", 8 / 70.0, gpus, samplesOfHostPerSecond, CALL_COST);
  }

  private static StepModel herring(
      String algorithm,
      double nicNanosPerByte,
      int gpus,
      int samplesOfHostPerSecond,
      CallPrices.CallCost cost) {
    double nanos = GPUS * HERRING_BATCH * 1e9 / samplesOfHostPerSecond;
    Model model = Model.BERT_LARGE;
    StepModel.Backward backward =
        StepModel.Backward.of(
            ElementType.FLOAT16, counts(model), ForwardWork.of(model, 128), nanos * 2 / 3);
    Fabric hosts =
        new Fabric(
            new Wire(15_000, 8 / 100.0),
            List.of(Fabric.Other.parse("host=2us,130GB/s")),
            Optional.empty(),
            new Hosts(GPUS, nicNanosPerByte, 0, 1));
    return new StepModel(
        new StepModel.Compute(backward, nanos / 3, 0, 0, 0),
        new CallPrices(
            List.of(algorithm), Size.of(gpus), hosts, new CallPrices.Software(16, 0, cost)));
  }

  private static long[] counts(Model model) {
    return model.tensors().stream().mapToLong(Tensor::count).toArray();
  }

  /** The name on the command line, as {@code kumar-6}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
