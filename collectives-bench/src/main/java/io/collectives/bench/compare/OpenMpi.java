package io.collectives.bench.compare;

import io.collectives.Collective;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Open MPI. Its choice of an algorithm is far from its best for large payloads, so some are forced.
 */
final class OpenMpi implements PeerKit {
  private static final List<String> PACKAGES = List.of("gcc", "libopenmpi-dev", "openmpi-bin");
  private static final String[] MPICC = {"mpicc.openmpi", "mpicc"};
  private static final String[] MPIRUN = {"mpirun.openmpi", "mpirun"};
  private static final String NAME = "openmpi";

  /** More bytes that go unasked, over TCP. */
  private static final String EAGER = "eager-1M";

  private static final Map<String, List<String>> ALL_REDUCES =
      options(
          Map.entry("ring-1M", forced("allreduce", 5, 1 << 20)),
          Map.entry("ring-256K", forced("allreduce", 5, 1 << 18)),
          Map.entry("rabenseifner", forced("allreduce", 6, 0)));

  private static final Map<String, List<String>> REDUCE_SCATTERS =
      options(
          Map.entry("recursive-halving", forced("reduce_scatter_block", 3, 0)),
          Map.entry("butterfly", forced("reduce_scatter_block", 4, 0)));

  private static final Map<String, List<String>> ALL_GATHERS =
      options(
          Map.entry("recursive-doubling", forced("allgather", 3, 0)),
          Map.entry("ring", forced("allgather", 4, 0)));

  private static final Map<String, List<String>> BROADCASTS =
      options(
          Map.entry("pipeline-128K", forced("bcast", 3, 1 << 17)),
          Map.entry("scatter-ring", forced("bcast", 9, 0)));

  /**
   * Returns the options of each variant of a collective, the forced algorithms between the two
   * others.
   */
  @SafeVarargs
  private static Map<String, List<String>> options(Map.Entry<String, List<String>>... forced) {
    Map<String, List<String>> options = new LinkedHashMap<>();
    options.put("default", List.of());
    for (Map.Entry<String, List<String>> variant : forced) {
      options.put(variant.getKey(), variant.getValue());
    }
    options.put(
        EAGER,
        List.of(
            "--mca",
            "btl_tcp_eager_limit",
            "1048576",
            "--mca",
            "btl_tcp_rndv_eager_limit",
            "1048576",
            "--mca",
            "btl_tcp_max_send_size",
            "2097152"));
    return options;
  }

  /** Algorithms by the numbers of {@code ompi_info --param coll tuned --level 9}. */
  private static List<String> forced(String collective, int algorithm, int segment) {
    String parameter = "coll_tuned_" + collective + "_algorithm";
    return List.of(
        "--mca",
        "coll_tuned_use_dynamic_rules",
        "1",
        "--mca",
        parameter,
        Integer.toString(algorithm),
        "--mca",
        parameter + "_segmentsize",
        Integer.toString(segment));
  }

  private static Map<String, List<String>> options(Collective collective) {
    return switch (collective) {
      case ALL_REDUCE -> ALL_REDUCES;
      case REDUCE_SCATTER -> REDUCE_SCATTERS;
      case ALL_GATHER -> ALL_GATHERS;
      case BROADCAST -> BROADCASTS;
      default -> Map.of();
    };
  }

  @Override
  public boolean compilesAhead() {
    return true;
  }

  @Override
  public List<String> variants(Collective collective, Medium medium) {
    return options(collective).keySet().stream()
        .filter(variant -> medium == Medium.TCP || !variant.equals(EAGER))
        .toList();
  }

  @Override
  public void prepare(PeerBuild build)
      throws MissingPeerException, IOException, InterruptedException {
    Path mpicc = build.need(PACKAGES, MPICC);
    build.need(PACKAGES, MPIRUN);
    build.compile(
        PACKAGES,
        build.directory(NAME),
        Map.of("mpi_peer.c", PeerBuild.resource("mpi_peer.c")),
        List.of(
            mpicc.toString(),
            "-O3",
            "-march=native",
            "-o",
            program(build),
            build.directory(NAME).resolve("mpi_peer.c").toString()));
  }

  private static String program(PeerBuild build) throws IOException {
    return build.directory(NAME).resolve("mpi_peer").toString();
  }

  @Override
  public List<Start> starts(PeerBuild build, PeerJob job, Path scratch) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(build.find(MPIRUN).orElseThrow().toString());
    command.addAll(List.of("-np", Integer.toString(job.ranks()), "--oversubscribe"));
    command.addAll(List.of("--mca", "pml", "ob1", "--mca", "btl"));
    command.addAll(
        job.medium() == Medium.TCP
            ? List.of("self,tcp", "--mca", "btl_tcp_if_include", "lo")
            : List.of("self,vader"));
    if (job.ranks() <= Runtime.getRuntime().availableProcessors()) {
      command.addAll(List.of("--bind-to", "core:overload-allowed"));
    } else {
      // Ranks that spin would cost each other whole time slices.
      command.addAll(List.of("--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"));
    }
    command.addAll(options(job.collective()).getOrDefault(job.variant(), List.of()));
    command.addAll(List.of(program(build), job.collective().toString()));
    return List.of(
        new Start(
            command,
            Map.of(
                "TMPDIR", scratch.toString(),
                "OMPI_ALLOW_RUN_AS_ROOT", "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")));
  }
}
