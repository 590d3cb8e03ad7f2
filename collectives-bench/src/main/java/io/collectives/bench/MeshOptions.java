package io.collectives.bench;

import io.collectives.Mesh;
import io.collectives.ModelParallelMesh;
import io.collectives.bench.network.LinkRate;
import io.collectives.bench.network.MeshNetwork;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.simulate.Circuit;
import io.collectives.bench.simulate.Fabric;
import io.collectives.bench.simulate.Hosts;
import io.collectives.bench.simulate.LinkClass;
import io.collectives.bench.simulate.Quantities;
import io.collectives.bench.simulate.Scenario;
import io.collectives.bench.simulate.Size;
import io.collectives.bench.simulate.Task;
import io.collectives.bench.simulate.Wire;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The options by which {@code perf} measures on meshes of hosts, with a link to each neighbor. */
final class MeshOptions {
  private static final Pattern LINK = Pattern.compile("(?:(x|y|pods)=)?(.*)");
  private static final List<LinkClass> CLASSES = List.of(LinkClass.X, LinkClass.Y, LinkClass.PODS);

  /** The options of {@code perf} that describe other ranks, hosts or payloads. */
  private static final List<String> OTHERS =
      List.of(
          "--ranks",
          "--workers",
          "--placement",
          "--transport",
          "--link-bandwidth",
          "--servers",
          "--workers-per-host",
          "--tensors",
          "--persistent",
          "--wire-type",
          "--start-up",
          "--tune-table",
          "--wait-near");

  @Option(
      names = "--mesh",
      split = ",",
      paramLabel = "XxY,...",
      hideParamSyntax = true,
      description =
          "Instead of --ranks: each rank is a process on a host of its own, which has a link to "
              + "each neighbor on a mesh of Y rows of X, as 4x4 or '4x4 wrap=none'; without wrap= "
              + "both dimensions wrap. What goes to others is passed on by the hosts between, "
              + "along the row first. What each link sends is counted, and stands beside what "
              + "the plan says; the time stands beside what simulate says. The hosts are network "
              + "namespaces of Linux, which needs root.")
  private List<String> texts = List.of();

  @Option(
      names = "--link",
      split = ",",
      paramLabel = "RATE,...",
      hideParamSyntax = true,
      description =
          "What each link of --mesh carries each way, as 20Mbit/s; with x=, y= or pods= before "
              + "it, links along a dimension or from pod to pod.")
  private List<String> links = List.of();

  @Option(
      names = "--pod",
      paramLabel = "XxY",
      description = "--mesh is laid out in pods of this shape.")
  private Optional<String> pod = Optional.empty();

  @Option(
      names = "--model-parallel",
      defaultValue = "1",
      paramLabel = "M",
      description =
          "M ranks beside each other in a row of --mesh share a model: M groups, each of every Mth "
              + "rank of the rows, are at work at once, and share links. Default: "
              + "${DEFAULT-VALUE}.")
  private int ways;

  @Option(
      names = "--alpha",
      defaultValue = "0us",
      paramLabel = "TIME",
      description =
          "The latency of each link that the model of --mesh assumes. Default: ${DEFAULT-VALUE}.")
  private String alpha = "";

  private final Map<LinkClass, LinkRate> rates = new EnumMap<>(LinkClass.class);
  private List<Mesh> meshes = List.of();
  private double alphaNanos;

  /** Returns whether meshes are wanted. */
  boolean areWanted() {
    return !texts.isEmpty();
  }

  /** Reads and checks everything but whether algorithms fit. */
  void check(CommandSpec spec) {
    alphaNanos = read(spec, "--alpha", alpha, Quantities::nanos);
    Usage.require(
        areWanted() || links.isEmpty() && pod.isEmpty() && ways == 1,
        spec,
        "--link, --pod and --model-parallel are of --mesh");
    if (!areWanted()) {
      return;
    }
    for (String other : OTHERS) {
      Usage.require(
          !spec.commandLine().getParseResult().hasMatchedOption(other),
          spec,
          other + " with --mesh: each place is a process on a host of its own; leave it out");
    }
    Usage.require(
        spec.commandLine().getParseResult().hasMatchedOption("--bytes"),
        spec,
        "--mesh: say how long payloads are on links that are slow, as --bytes 4M");
    Usage.require(!links.isEmpty(), spec, "--mesh: say what links carry, as --link 20Mbit/s");
    pod.ifPresent(text -> read(spec, "--pod", text, Mesh::parse));
    links.forEach(link -> readLink(spec, link));
    meshes = texts.stream().map(text -> read(spec, "--mesh", text, Mesh::parse)).toList();
    for (Mesh mesh : meshes) {
      Usage.require(
          mesh.ranks() >= 2 && mesh.ranks() <= MeshNetwork.MOST_HOSTS,
          spec,
          "--mesh " + mesh + ": must have from 2 to " + MeshNetwork.MOST_HOSTS + " places");
      read(spec, "--model-parallel", mesh.toString(), text -> group(mesh));
      boolean linked =
          (mesh.x() == 1 || rates.containsKey(LinkClass.X))
              && (mesh.y() == 1 || rates.containsKey(LinkClass.Y))
              && (pod.isEmpty() || rates.containsKey(LinkClass.PODS));
      Usage.require(
          linked,
          spec,
          "--link "
              + String.join(",", links)
              + ": some links of the mesh "
              + mesh
              + " have no rate; write one for all, as 20Mbit/s, or x=, y= and pods=");
    }
    Usage.require(
        pod.isPresent() || links.stream().noneMatch(link -> link.startsWith("pods=")),
        spec,
        "--link pods=: needs --pod, the shape of pods");
    Usage.require(
        Math.max(1, meshes.stream().mapToInt(mesh -> group(mesh).ranks()).min().orElse(1)) > 1,
        spec,
        "--model-parallel " + ways + ": groups of one rank have nothing to do");
  }

  /** A rate for all links takes the place of none that was given for some. */
  private void readLink(CommandSpec spec, String text) {
    Matcher matcher = LINK.matcher(text.strip());
    Usage.require(matcher.matches(), spec, "--link '" + text + "': write 20Mbit/s or x=20Mbit/s");
    LinkRate rate = read(spec, "--link", matcher.group(2), LinkRate::parse);
    for (LinkClass each : CLASSES) {
      if (matcher.group(1) == null) {
        rates.putIfAbsent(each, rate);
      } else if (each.toString().equals(matcher.group(1))) {
        rates.put(each, rate);
      }
    }
  }

  private static <T> T read(
      CommandSpec spec, String option, String text, Function<String, T> reader) {
    try {
      return reader.apply(text);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, option + ": " + e.getMessage());
    }
  }

  /** The meshes, one for each job. */
  List<Mesh> meshes() {
    return meshes;
  }

  /** Returns how many ranks make up a group on each mesh. */
  List<Integer> groupSizes() {
    return meshes.stream().map(mesh -> group(mesh).ranks()).toList();
  }

  private Mesh group(Mesh mesh) {
    return ways == 1 ? mesh : new ModelParallelMesh(mesh, ways).replicaMesh();
  }

  /** The rate of the links of a class. */
  LinkRate rate(LinkClass of) {
    LinkRate rate = rates.get(of);
    if (rate == null) {
      throw new IllegalStateException("no rate of links of class " + of);
    }
    return rate;
  }

  /**
   * Plans an algorithm on a mesh, and puts it there: a mesh of the group's if it is planned for
   * meshes, else along a circuit of neighbors if there is one.
   *
   * @throws IllegalArgumentException if it is not planned, or does not fit
   */
  Scenario scenario(AlgorithmChoice algorithm, Task task, Mesh mesh) {
    Scenario.Work work =
        new Scenario.Work(algorithm.text(), task, 0, ways, Circuit.exists(group(mesh)));
    return Scenario.of(work, new Size(mesh.ranks(), Optional.of(mesh)), fabric());
  }

  private Fabric fabric() {
    List<Fabric.Other> others = new ArrayList<>();
    for (LinkClass each : CLASSES) {
      if (rates.containsKey(each)) {
        others.add(
            new Fabric.Other(each.toString(), Optional.of(each), 0, 0, wire(rates.get(each))));
      }
    }
    Wire any = wire(rates.values().iterator().next());
    return new Fabric(any, others, pod.map(Mesh::parse), Hosts.NONE);
  }

  private Wire wire(LinkRate rate) {
    return new Wire(alphaNanos, 8e9 / rate.bitsPerSecond());
  }

  /** Returns the links in words, as they were written. */
  String words() {
    return "links of "
        + String.join(", ", links)
        + " each way"
        + pod.map(shape -> ", pods of " + shape).orElse("")
        + (ways == 1 ? "" : ", " + ways + " groups at once");
  }

  /** Returns the latency that the model assumes, in words. */
  String assumedLatency() {
    return alpha;
  }
}
