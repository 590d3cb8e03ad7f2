package io.collectives.bench;

import io.collectives.ElementType;
import io.collectives.bench.model.ForwardWork;
import io.collectives.bench.model.Model;
import io.collectives.bench.model.Tensor;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.Calibration;
import io.collectives.bench.simulate.CallPrices;
import io.collectives.bench.simulate.Quantities;
import io.collectives.bench.simulate.StepModel;
import io.collectives.bench.simulate.Wire;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;

/** The options by which {@code simulate} models steps instead of calls. */
final class StepOptions {
  private static final int MOST_BATCH = 1_000_000;
  private static final int MOST_SEQUENCE = 65_536;
  private static final int MOST_SCALE = 1_000_000;
  private static final List<String> OWN =
      List.of(
          "--way",
          "--batch",
          "--sequence",
          "--flops",
          "--forward",
          "--backward",
          "--ready",
          "--buffer",
          "--balanced",
          "--no-overlap",
          "--contention",
          "--shard",
          "--update",
          "--input",
          "--call-cost",
          "--type",
          "--scale",
          "--measured");
  private static final List<String> NOT_OF_STEPS =
      List.of("--collective", "--root", "--bytes", "--serve", "--circuit", "--model-parallel");

  /** The fusion of gradients: those of {@code perf --way} that a model knows. */
  enum Way {
    FUSED,
    ONE,
    EACH;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The measure by which the time of a backward pass is dealt out to tensors. */
  enum Ready {
    WORK,
    ELEMENTS;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @Option(
      names = "--step",
      split = ",",
      paramLabel = "MODEL,...",
      hideParamSyntax = true,
      description =
          "Instead of a call: a training step of ${COMPLETION-CANDIDATES}, whose gradients are "
              + "all-reduced. Needs --flops or --backward.")
  private List<Model> models = List.of();

  @Option(
      names = "--way",
      split = ",",
      defaultValue = "fused",
      paramLabel = "WAY,...",
      hideParamSyntax = true,
      description =
          "How gradients of a --step are reduced: fused in a gradient reducer's buffers, in one "
              + "call of all, or by a call for each. Default: ${DEFAULT-VALUE}.")
  private List<Way> ways = List.of();

  @Option(
      names = "--batch",
      split = ",",
      defaultValue = "32",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description = "Samples of a step of each rank. Default: ${DEFAULT-VALUE}.")
  private List<Integer> batches = List.of();

  @Option(
      names = "--sequence",
      defaultValue = "128",
      paramLabel = "N",
      description = "Tokens of a sample of bert-large. Default: ${DEFAULT-VALUE}.")
  private int sequence;

  @Option(
      names = "--flops",
      paramLabel = "RATE",
      description =
          "How fast a rank computes, as 50TFLOP/s: what it reaches, not its peak. A backward pass "
              + "takes twice as long as a forward pass.")
  private Optional<String> flops = Optional.empty();

  @Option(
      names = "--forward",
      paramLabel = "TIME",
      description = "Of a batch, measured; with --backward. Default: 0ms.")
  private Optional<String> forward = Optional.empty();

  @Option(
      names = "--backward",
      paramLabel = "TIME",
      description = "Of a batch, measured; instead of --flops.")
  private Optional<String> backward = Optional.empty();

  @Option(
      names = "--ready",
      paramLabel = "BY",
      description =
          "Each tensor takes a part of the backward pass by its ${COMPLETION-CANDIDATES}, as in "
              + "perf --backward by elements. Default: work where it is known.")
  private Optional<Ready> ready = Optional.empty();

  @Option(
      names = "--buffer",
      defaultValue = "8M",
      paramLabel = "BYTES",
      description =
          "The most bytes of a fusion buffer; the first has 1M at most. Default: ${DEFAULT-VALUE}.")
  private ByteSize buffer = new ByteSize(0);

  @Option(
      names = "--balanced",
      description = "All buffers have that length; tensors are cut, as Herring does.")
  private boolean balanced;

  @Option(
      names = "--no-overlap",
      description = "Nothing is reduced before the backward pass is over.")
  private boolean inTurn;

  @Option(
      names = "--contention",
      defaultValue = "0",
      paramLabel = "SHARE",
      description =
          "How much of the backward pass stands still during a call, from 0 to 1. "
              + "Default: ${DEFAULT-VALUE}.")
  private double contention;

  @Option(
      names = "--shard",
      description = "Each rank updates a part: reduce-scatters, and all-gathers of weights.")
  private boolean shards;

  @Option(
      names = "--update",
      defaultValue = "0ms",
      paramLabel = "TIME",
      description = "Of the update of all weights by one rank. Default: ${DEFAULT-VALUE}.")
  private String update = "";

  @Option(
      names = "--input",
      defaultValue = "0ms",
      paramLabel = "TIME",
      description =
          "What it takes to make the input of a batch, during the step before. "
              + "Default: ${DEFAULT-VALUE}.")
  private String input = "";

  @Option(
      names = "--call-cost",
      defaultValue = "0us",
      paramLabel = "TIME",
      description =
          "What a call costs beside its transfers, as 100us, or as 60us/rank for each of its"
              + " ranks. Default: ${DEFAULT-VALUE}.")
  private String callCost = "";

  @Option(
      names = "--type",
      defaultValue = "float32",
      paramLabel = "TYPE",
      description = "Of gradients: float32, bfloat16 or float16. Default: ${DEFAULT-VALUE}.")
  private ElementType type = ElementType.FLOAT32;

  @Option(
      names = "--scale",
      defaultValue = "1",
      paramLabel = "N",
      description = "Divide the length of each tensor by N. Default: ${DEFAULT-VALUE}.")
  private int scale;

  @Option(
      names = "--measured",
      split = ",",
      paramLabel = "BYTES=TIME,...",
      hideParamSyntax = true,
      description =
          "Two all-reduces of --algorithm with as many ranks, measured by perf, as "
              + "64K=1.2ms,16M=140ms; instead of --alpha and --bandwidth.")
  private List<String> measured = List.of();

  /** A step that is wanted, but for the network. */
  record Wanted(Model model, Way way, int batch, StepModel.Compute compute) {}

  /** Returns whether steps are wanted. */
  boolean areWanted() {
    return !models.isEmpty();
  }

  /** Returns whether links are those of measured calls. */
  boolean areLinksMeasured() {
    return !measured.isEmpty();
  }

  /** Checks everything but what depends on the model. */
  void check(CommandSpec spec) {
    ParseResult given = spec.commandLine().getParseResult();
    List<String> wrong = areWanted() ? NOT_OF_STEPS : OWN;
    for (String option : wrong) {
      Usage.require(
          !given.hasMatchedOption(option),
          spec,
          option + (areWanted() ? ": is of calls, not of a --step" : ": is of a --step"));
    }
    if (!areWanted()) {
      return;
    }
    Usage.require(
        flops.isPresent() != backward.isPresent(),
        spec,
        "--step: needs the time of its computing, either --flops or --backward");
    Usage.require(forward.isEmpty() || backward.isPresent(), spec, "--forward: needs --backward");
    for (int batch : batches) {
      requireRange(spec, "--batch", batch, MOST_BATCH);
    }
    requireRange(spec, "--sequence", sequence, MOST_SEQUENCE);
    requireRange(spec, "--scale", scale, MOST_SCALE);
    Usage.require(buffer.bytes() >= 1, spec, "--buffer " + buffer + ": must be at least 1 byte");
    Usage.require(
        contention >= 0 && contention <= 1,
        spec,
        "--contention " + contention + ": must be from 0 to 1");
    Usage.require(
        Stream.of(ElementType.FLOAT32, ElementType.BFLOAT16, ElementType.FLOAT16)
            .anyMatch(type::equals),
        spec,
        "--type " + type + ": gradients are float32, bfloat16 or float16");
    Usage.require(
        measured.isEmpty()
            || !given.hasMatchedOption("--alpha") && !given.hasMatchedOption("--bandwidth"),
        spec,
        "--measured: gives --alpha and --bandwidth; leave them out");
  }

  private static void requireRange(CommandSpec spec, String option, int value, int most) {
    Usage.require(
        value >= 1 && value <= most, spec, option + " " + value + ": must be from 1 to " + most);
  }

  /** Returns all combinations of model, way and batch. */
  List<Wanted> all(CommandSpec spec) {
    List<Wanted> all = new ArrayList<>();
    for (Model model : models) {
      Usage.require(
          ForwardWork.isKnown(model) || flops.isEmpty() && !ready.equals(Optional.of(Ready.WORK)),
          spec,
          "--step " + model + ": its layers are not known; give --backward, without --ready work");
      for (Way way : ways) {
        for (int batch : batches) {
          all.add(new Wanted(model, way, batch, compute(spec, model, batch)));
        }
      }
    }
    return all;
  }

  private StepModel.Compute compute(CommandSpec spec, Model model, int batch) {
    long[] counts =
        model.tensors().stream().mapToLong(tensor -> Math.max(1, tensor.count() / scale)).toArray();
    double[] elements = model.tensors().stream().mapToDouble(Tensor::count).toArray();
    boolean isKnown = ForwardWork.isKnown(model);
    double[] work = isKnown ? ForwardWork.of(model, sequence) : elements;
    double forwardNanos;
    double backwardNanos;
    if (flops.isPresent()) {
      double rate = read(spec, "--flops", flops.get(), Quantities::flopsPerNano);
      forwardNanos = batch * Arrays.stream(work).sum() / rate;
      backwardNanos = 2 * forwardNanos;
    } else {
      forwardNanos = read(spec, "--forward", forward.orElse("0ms"), Quantities::nanos);
      backwardNanos = read(spec, "--backward", backward.orElseThrow(), Quantities::nanos);
    }
    double[] by = ready.equals(Optional.of(Ready.ELEMENTS)) ? elements : work;
    return new StepModel.Compute(
        StepModel.Backward.of(type, counts, by, backwardNanos),
        forwardNanos,
        read(spec, "--update", update, Quantities::nanos),
        read(spec, "--input", input, Quantities::nanos),
        2);
  }

  /** Returns the means of a step. */
  StepModel.Means means(Way way) {
    StepModel.Fusion fusion =
        switch (way) {
          case ONE -> StepModel.Fusion.ONE;
          case EACH -> StepModel.Fusion.EACH;
          case FUSED ->
              balanced
                  ? new StepModel.Fusion(
                      buffer.bytes(), buffer.bytes(), true, StepModel.Fusion.reducer(1).lanes())
                  : StepModel.Fusion.reducer(buffer.bytes());
        };
    return new StepModel.Means(fusion, !inTurn, shards, contention);
  }

  /** Returns what a call costs beside its transfers. */
  CallPrices.CallCost callCost(CommandSpec spec) {
    return read(spec, "--call-cost", callCost, CallPrices.CallCost::parse);
  }

  /** Returns the calls that were measured, if there are any. */
  Optional<Calibration> calibration(CommandSpec spec) {
    return measured.isEmpty()
        ? Optional.empty()
        : Optional.of(
            read(spec, "--measured", String.join(",", measured), StepOptions::calibration));
  }

  private static Calibration calibration(String text) {
    List<Calibration.Call> calls = new ArrayList<>();
    for (String part : text.split(",")) {
      int equals = part.indexOf('=');
      if (equals < 0) {
        throw new IllegalArgumentException(
            "'" + part + "' is no measured call; write 64K=1.2ms,16M=140ms");
      }
      calls.add(
          new Calibration.Call(
              ByteSize.parse(part.substring(0, equals)).bytes(),
              Quantities.nanos(part.substring(equals + 1))));
    }
    return new Calibration(calls);
  }

  /** Returns what was assumed of the computing and of the fusion, a sentence each. */
  List<String> assumptions() {
    List<String> lines = new ArrayList<>();
    lines.add(
        flops
            .map(
                rate ->
                    "A rank computes at "
                        + rate
                        + ", two operations for each product; the backward pass takes twice as"
                        + " long as the forward pass.")
            .orElse("The times of computing are those that were given."));
    lines.add(
        "Gradients become ready from the last tensor to the first, each after its part of the"
            + " backward pass by "
            + (ready.equals(Optional.of(Ready.ELEMENTS)) ? "elements" : "work, where it is known")
            + "; they are "
            + type
            + ".");
    if (ways.contains(Way.FUSED) && !shards) {
      lines.add(
          balanced
              ? "Buffers of " + buffer + " are full; two are under way at once."
              : "Buffers hold whole tensors of up to "
                  + buffer
                  + ", as a gradient reducer's; two are under way at once.");
    }
    lines.add(
        inTurn
            ? "Nothing is reduced before the backward pass is over."
            : contention == 0
                ? "Calls take nothing from the backward pass."
                : "While a call is under way, the backward pass goes at "
                    + Math.round(100 * (1 - contention))
                    + " % of its speed.");
    if (shards) {
      if (ways.contains(Way.FUSED)) {
        lines.add("Buckets of " + buffer + " are full, as a sharded optimizer's; one at a time.");
      }
      lines.add(
          "Each rank updates a part of the weights, after two small all-reduces for norms; weights"
              + " are gathered after that.");
    }
    lines.add(
        "The update takes "
            + update
            + " for all weights; the input of a batch takes "
            + input
            + " during the step before; a call costs "
            + callCost
            + " beside its transfers.");
    lines.add("All ranks are equally fast; of linear: beside a rank by itself.");
    return lines;
  }

  /** Returns a sentence about links that were found by measured calls. */
  static String found(String calls, Wire wire) {
    return "Links for "
        + calls
        + " ranks are such that the two measured calls take what they took: "
        + Units.time(wire.alphaNanos())
        + ", "
        + Units.rate(1 / wire.nanosPerByte())
        + ".";
  }

  private static <T> T read(
      CommandSpec spec, String option, String text, Function<String, T> reader) {
    try {
      return reader.apply(text);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, option + ": " + e.getMessage());
    }
  }
}
