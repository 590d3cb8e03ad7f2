package io.collectives.bench.simulate;

import io.collectives.Mesh;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The figures of papers that plans and simulator draw: what is simulated, what is assumed because
 * the papers do not say it, and the numbers that they print.
 */
public enum PaperFigure {
  /** Time of an all-reduce over 4 to 256 chips of TPU v2. */
  YING_7(
      "Ying et al. 2018, figure 7: an all-reduce of ResNet-50's gradients on 4 to 256 chips",
      List.of(
          "Assumed: 25,557,032 parameters in float32; 62GB/s each way and 1us on a link of TPU v2;"
              + " a ring along a circuit of neighbours; no time to add.",
          "The paper prints no numbers: it says that the 2-D algorithm has more throughput than a"
              + " ring even on a mesh, scales better, and that torus links help.")),

  /** Time of an all-reduce over 16 to 4,096 chips of TPU v3, of four pods. */
  KUMAR_PODS(
      "Kumar et al. 2021, sections 1 and 3.3: four pods of 32x32 chips, which wrap along Y",
      List.of(
          "Assumed: 102.4 MB; 70GB/s and 1us on a link of TPU v3; pods=5us,35GB/s where pods are"
              + " named; a ring along a circuit of neighbours; no time to add.",
          "The paper prints no times: it says that an all-reduce stays almost constant from 16 to"
              + " 4,096 chips, and that what goes along X is 32 times less.")),

  /** Time of an all-reduce over 64 to 512 GPUs, by NCCL and by Herring. */
  HERRING_10(
      "Thangakrishnan et al. 2020 (Herring), figure 10 and tables V and VI",
      List.of(
          "Assumed: 8 GPUs share a NIC of 100Gbit/s; as many hosts of servers as of GPUs; 15us"
              + " between hosts, 2us and 130GB/s within one; no time to add, or to copy between"
              + " GPU and host.",
          "dedicated-servers at 70Gbit/s: NICs filled to 70 %.",
          "The paper's times of 100 MB are those of table V for Herring, and twice that for NCCL's"
              + " trees, of which it says that Herring takes half the time; the others are in a"
              + " figure that its text lacks.")),

  /** Bytes that servers carry in an iteration. */
  HERRING_III(
      "Thangakrishnan et al. 2020 (Herring), table III: MB of 1,024 KB that the busiest server"
          + " receives",
      List.of(
          "The gradients of table II, 86,684 KB, on as many servers as workers, each way;"
              + " atomic-servers have whole variables, dedicated-servers equal shares.",
          "On the wire, 8 workers, in float32 of half as many: collectives perf --workers 8 --algorithm parameter-server:0+n --tensors"
              + " table2 --scale 2 --way fused,atomic --link-bandwidth 2Gbit/s"));

  private static final int LONG = 102_400_000;
  private static final double[] NONE = {};

  private final String title;
  private final List<String> notes;

  PaperFigure(String title, List<String> notes) {
    this.title = title;
    this.notes = notes;
  }

  /**
   * A simulated case.
   *
   * @param scenario a plan on a network
   * @param label the algorithm, and what is special about the network
   * @param bytes of each rank's payload
   * @param slabs into which chunks are cut
   * @param paper what the paper prints: milliseconds, or of {@link #HERRING_III} MB; NaN if nothing
   */
  public record Case(Scenario scenario, String label, long bytes, int slabs, double paper) {
    private static final int MOST_RANKS_BY_ARRIVAL = 1024;

    /** Moves clocks through the plan. */
    public Outcome run() {
      return scenario.run(costs());
    }

    /** Returns the time on links that serve by arrival; of plans that are too long nothing. */
    public OptionalDouble byArrival() {
      if (scenario.ranks() > MOST_RANKS_BY_ARRIVAL) {
        return OptionalDouble.empty();
      }
      try {
        return OptionalDouble.of(scenario.run(costs(), Service.ARRIVAL).nanos());
      } catch (IllegalArgumentException e) {
        return OptionalDouble.empty(); // It is too long.
      }
    }

    /** Returns a time that no plan can go below, if there is one. */
    public OptionalDouble least() {
      return scenario.least(bytes);
    }

    private Costs costs() {
      return scenario.costs(bytes, slabs, 0);
    }
  }

  /** Returns a line for people: the paper, its figure, and the subject. */
  public String title() {
    return title;
  }

  /** Returns the assumptions, and the paper's words, a line each. */
  public List<String> notes() {
    return notes;
  }

  /** Returns whether it is about bytes and not about time. */
  public boolean isOfBytes() {
    return this == HERRING_III;
  }

  /** All cases, in the order in which they are printed. */
  public List<Case> cases() {
    return switch (this) {
      case YING_7 -> ying();
      case KUMAR_PODS -> kumar();
      case HERRING_10 -> herringTimes();
      case HERRING_III -> herringBytes();
    };
  }

  private static List<Case> ying() {
    Fabric links = new Fabric(new Wire(1000, 1 / 62.0), List.of(), Optional.empty(), Hosts.NONE);
    List<Case> cases = new ArrayList<>();
    for (String algorithm : List.of("ring", "torus", "weighted-torus")) {
      for (boolean wraps :
          algorithm.equals("ring") ? new boolean[1] : new boolean[] {false, true}) {
        for (Size size : Size.parse("2x2,4x2,4x4,8x4,8x8,16x8,16x16")) {
          Scenario.Work work = work(algorithm, "all-reduce");
          Scenario scenario = Scenario.of(work, size.wrapped(wraps, wraps), links);
          cases.add(new Case(scenario, algorithm, 102_228_128, 1, Double.NaN));
        }
      }
    }
    return cases;
  }

  private static List<Case> kumar() {
    Wire wire = new Wire(1000, 1 / 70.0);
    Fabric alike = new Fabric(wire, List.of(), Optional.empty(), Hosts.NONE);
    Fabric slow =
        new Fabric(
            wire,
            List.of(Fabric.Other.parse("pods=5us,35GB/s")),
            Optional.of(Mesh.torus(32, 32)),
            Hosts.NONE);
    List<Case> cases = new ArrayList<>();
    for (String algorithm : List.of("ring", "torus", "weighted-torus", "hierarchical")) {
      boolean halves = algorithm.equals("hierarchical");
      Scenario.Work work = work(algorithm, halves ? "reduce-scatter+all-gather" : "all-reduce");
      for (Size size : Size.parse("4x4,8x8,16x16,32x32,128x32")) {
        Size mesh = size.wrapped(false, true);
        cases.add(new Case(Scenario.of(work, mesh, alike), algorithm, LONG, 1, Double.NaN));
      }
      Scenario pods = Scenario.of(work, Size.of(128, 32).wrapped(false, true), slow);
      cases.add(new Case(pods, algorithm, LONG, 1, Double.NaN));
    }
    Scenario.Work wary = work("weighted-torus:128x32 wrap=y/9:1", "all-reduce");
    Scenario pods = Scenario.of(wary, Size.of(128, 32).wrapped(false, true), slow);
    cases.add(new Case(pods, "weighted-torus", LONG, 1, Double.NaN));
    return cases;
  }

  private static List<Case> herringTimes() {
    double[] herring = {13.457, 14.21, 15.237, 16.449};
    double[] twice = {26.914, 28.42, 30.474, 32.898};
    List<Case> cases = new ArrayList<>();
    addHosts(cases, "ring", 100, 16, NONE);
    addHosts(cases, "hierarchical", 100, 16, NONE);
    addHosts(cases, "hierarchical-tree", 100, 64, twice);
    addHosts(cases, "dedicated-servers", 100, 16, herring);
    addHosts(cases, "dedicated-servers", 70, 16, herring);
    return cases;
  }

  private static void addHosts(
      List<Case> cases, String algorithm, int gigabits, int slabs, double[] paper) {
    Fabric hosts =
        new Fabric(
            new Wire(15_000, 8 / 100.0),
            List.of(Fabric.Other.parse("host=2us,130GB/s")),
            Optional.empty(),
            new Hosts(8, 8.0 / gigabits, 0, 1));
    String label = gigabits == 100 ? algorithm : algorithm + " at " + gigabits + "Gbit/s";
    for (long bytes : new long[] {100_000_000, 400_000_000, 1_600_000_000}) {
      for (int i = 0; i < 4; i++) {
        Scenario scenario = Scenario.of(work(algorithm, "all-reduce"), Size.of(64 << i), hosts);
        boolean known = bytes == 100_000_000 && paper.length > 0;
        cases.add(new Case(scenario, label, bytes, slabs, known ? paper[i] : Double.NaN));
      }
    }
  }

  private static List<Case> herringBytes() {
    Fabric hosts =
        new Fabric(
            new Wire(15_000, 8 / 100.0),
            List.of(),
            Optional.empty(),
            new Hosts(1, 8 / 100.0, 0, 1));
    double[] whole = {477, 954, 1908, 3816};
    List<Case> cases = new ArrayList<>();
    for (String algorithm : List.of("atomic-servers", "dedicated-servers")) {
      for (int i = 0; i < whole.length; i++) {
        Scenario scenario = Scenario.of(work(algorithm, "all-reduce"), Size.of(8 << i), hosts);
        double paper = algorithm.startsWith("atomic") ? whole[i] : 84.6;
        cases.add(new Case(scenario, algorithm, 86_684L << 10, 1, paper));
      }
    }
    return cases;
  }

  private static Scenario.Work work(String algorithm, String task) {
    boolean circuit = algorithm.equals("ring");
    return new Scenario.Work(algorithm, Task.parse(task), 0, 1, circuit);
  }

  /** The name on the command line, as {@code herring-10}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
