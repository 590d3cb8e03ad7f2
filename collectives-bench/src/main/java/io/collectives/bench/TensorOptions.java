package io.collectives.bench;

import io.collectives.Algorithm;
import io.collectives.BufferReduction;
import io.collectives.bench.model.Model;
import io.collectives.bench.perf.ModelTensors;
import io.collectives.internal.FusionRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The options by which {@code perf} reduces tensors of models instead of one payload. */
final class TensorOptions {
  private static final int MOST_SCALE = 1_000_000;

  @Option(
      names = "--tensors",
      split = ",",
      paramLabel = "MODEL,...",
      hideParamSyntax = true,
      description =
          "Instead of --bytes: the gradients of a model, ${COMPLETION-CANDIDATES}, each tensor an array of its own.")
  private List<Model> models = List.of();

  @Option(
      names = "--way",
      split = ",",
      defaultValue = "fused,one,each,copied",
      paramLabel = "WAY,...",
      hideParamSyntax = true,
      description =
          "How --tensors are reduced: fused by a gradient reducer, in one call of all, by a call "
              + "for each, or copied to one array and back; atomic: each whole by one dedicated "
              + "server, as before Herring; negotiated: in buffers that ranks agree on every "
              + "millisecond, as Horovod does, without dedicated servers. Default: "
              + "${DEFAULT-VALUE}.")
  private List<ModelTensors.Way> ways = List.of();

  @Option(
      names = "--lanes",
      split = ",",
      defaultValue = "" + FusionRule.LANES,
      paramLabel = "N,...",
      hideParamSyntax = true,
      description =
          "How many buffers --way fused has under way at once, from 1 to "
              + BufferReduction.MOST_LANES
              + ". Default: ${DEFAULT-VALUE}.")
  private List<Integer> lanes = List.of();

  @Option(
      names = "--scale",
      defaultValue = "1",
      paramLabel = "N",
      description = "Divide the length of each of --tensors by N. Default: ${DEFAULT-VALUE}.")
  private int scale;

  @Option(
      names = "--backward",
      defaultValue = "0",
      paramLabel = "SECONDS",
      description =
          "How long the backward pass takes in which --tensors become ready, the last one first, "
              + "which uses no processor; it counts. Default: ${DEFAULT-VALUE}.")
  private Duration backward = Duration.ZERO;

  /** Returns whether tensors are wanted. */
  boolean areWanted() {
    return !models.isEmpty();
  }

  /** Returns whether there are several cases of each algorithm. */
  boolean areSeveral() {
    return models.size() * ways.size() * lanes.size() > 1;
  }

  /** Checks everything but whether algorithms fit. */
  void check(CommandSpec spec) {
    Usage.require(
        scale >= 1 && scale <= MOST_SCALE,
        spec,
        "--scale " + scale + ": must be from 1 to " + MOST_SCALE);
    Usage.require(
        areWanted() || scale == 1 && backward.isZero() && lanes.equals(List.of(FusionRule.LANES)),
        spec,
        "--scale, --backward and --lanes are of --tensors");
    for (int count : lanes) {
      Usage.require(
          count >= 1 && count <= BufferReduction.MOST_LANES,
          spec,
          "--lanes " + count + ": must be from 1 to " + BufferReduction.MOST_LANES);
    }
    Usage.require(
        lanes.equals(List.of(FusionRule.LANES)) || ways.contains(ModelTensors.Way.FUSED),
        spec,
        "--lanes: is of --way fused, not of " + ways);
  }

  /** Checks that each way goes with one of these algorithms at least. */
  void checkWays(CommandSpec spec, List<Algorithm> algorithms) {
    for (ModelTensors.Way way : areWanted() ? ways : List.<ModelTensors.Way>of()) {
      Usage.require(
          algorithms.stream().anyMatch(algorithm -> fits(way, algorithm)),
          spec,
          "--way "
              + way
              + (way == ModelTensors.Way.ATOMIC
                  ? " needs dedicated servers that are no workers, as --algorithm"
                      + " parameter-server:0+2"
                  : " needs an algorithm without dedicated servers, as ring"));
    }
  }

  /** Returns the combinations of model and way that an algorithm can reduce. */
  List<ModelTensors> of(Algorithm algorithm) {
    List<ModelTensors> all = new ArrayList<>();
    for (Model model : models) {
      for (ModelTensors.Way way : ways) {
        boolean isFused = way == ModelTensors.Way.FUSED;
        for (int count : isFused ? lanes : List.of(FusionRule.LANES)) {
          if (fits(way, algorithm)) {
            all.add(new ModelTensors(model, way, count, scale, backward.toNanos()));
          }
        }
      }
    }
    return all;
  }

  private static boolean fits(ModelTensors.Way way, Algorithm algorithm) {
    return algorithm instanceof Algorithm.ParameterServer servers
        ? way.fits(servers.dedicated(), servers.shared())
        : way.fits(0, 0);
  }
}
