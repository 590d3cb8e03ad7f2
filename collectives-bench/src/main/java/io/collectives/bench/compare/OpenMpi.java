package io.collectives.bench.compare;

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
  private static final String[] MPIRUN = {"mpirun.openmpi", "mpirun"};
  private static final String NAME = "openmpi";
  private static final String DEFAULT = "default";

  /** Options of a variant. */
  private static final Map<String, List<String>> OPTIONS = options();

  private static Map<String, List<String>> options() {
    Map<String, List<String>> options = new LinkedHashMap<>();
    options.put(DEFAULT, List.of());
    options.put("ring-1M", forced(5, 1 << 20));
    options.put("ring-256K", forced(5, 1 << 18));
    options.put("rabenseifner", forced(6, 0));
    options.put(
        "eager-1M",
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

  private static List<String> forced(int algorithm, int segment) {
    return List.of(
        "--mca",
        "coll_tuned_use_dynamic_rules",
        "1",
        "--mca",
        "coll_tuned_allreduce_algorithm",
        Integer.toString(algorithm),
        "--mca",
        "coll_tuned_allreduce_algorithm_segmentsize",
        Integer.toString(segment));
  }

  @Override
  public List<String> variants(Medium medium) {
    return OPTIONS.keySet().stream()
        .filter(variant -> medium == Medium.TCP || !variant.equals("eager-1M"))
        .toList();
  }

  @Override
  public void prepare(Workshop workshop)
      throws MissingPeerException, IOException, InterruptedException {
    Path mpicc = workshop.need(PACKAGES, "mpicc.openmpi", "mpicc");
    workshop.need(PACKAGES, MPIRUN);
    workshop.build(
        workshop.directory(NAME),
        Map.of("mpi_peer.c", Workshop.resource("mpi_peer.c")),
        List.of(
            List.of(
                mpicc.toString(),
                "-O3",
                "-march=native",
                "-o",
                program(workshop),
                workshop.directory(NAME).resolve("mpi_peer.c").toString())),
        Map.of());
  }

  private static String program(Workshop workshop) throws IOException {
    return workshop.directory(NAME).resolve("mpi_peer").toString();
  }

  @Override
  public List<Start> starts(
      Workshop workshop, String variant, Medium medium, int ranks, Path scratch)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(workshop.find(MPIRUN).orElseThrow().toString());
    command.addAll(List.of("-np", Integer.toString(ranks), "--oversubscribe"));
    command.addAll(List.of("--mca", "pml", "ob1", "--mca", "btl"));
    command.addAll(
        medium == Medium.TCP
            ? List.of("self,tcp", "--mca", "btl_tcp_if_include", "lo")
            : List.of("self,vader"));
    if (ranks <= Runtime.getRuntime().availableProcessors()) {
      command.addAll(List.of("--bind-to", "core:overload-allowed"));
    } else {
      // Ranks that spin would cost each other whole time slices.
      command.addAll(List.of("--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"));
    }
    command.addAll(OPTIONS.getOrDefault(variant, List.of()));
    command.add(program(workshop));
    return List.of(
        new Start(
            command,
            Map.of(
                "TMPDIR", scratch.toString(),
                "OMPI_ALLOW_RUN_AS_ROOT", "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")));
  }
}
