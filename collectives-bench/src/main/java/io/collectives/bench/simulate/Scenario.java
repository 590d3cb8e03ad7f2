package io.collectives.bench.simulate;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.ModelParallelMesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A plan on a network. */
public final class Scenario {
  /** The algorithms that only the simulator has. */
  public static final String FORMS = "dedicated-servers[:S], atomic-servers[:S]";

  private static final String ATOMIC = "atomic-servers";
  private static final Pattern DEDICATED =
      Pattern.compile("(dedicated-servers|" + ATOMIC + ")(?::(\\d{1,5}))?");

  private final Work work;
  private final String label;
  private final int members;
  private final Plan plan;
  private final Network network;
  private final Optional<Algorithm> algorithm;
  private final boolean circuit;
  private final int servers;

  /**
   * The work that is simulated.
   *
   * @param algorithm one of {@link PlanChoice}, or {@code dedicated-servers}, with as many servers
   *     as there are hosts of workers, or {@code dedicated-servers:4}; or {@code atomic-servers},
   *     as many as workers, which have one of the variables of {@link AtomicServersPlan#TABLE_II}
   *     each, in proportion to the payload
   * @param task what it does
   * @param root 0 if the task has none
   * @param ways on a mesh: of this many ranks beside each other, which share a model, each belongs
   *     to another group; all groups are at work at once
   * @param circuit on a mesh: whether ranks are numbered along a circuit of neighbors, unless the
   *     algorithm knows the mesh
   */
  public record Work(String algorithm, Task task, int root, int ways, boolean circuit) {
    /** Checks the form; whether a module knows the name shows when a plan is asked for. */
    public Work {
      if (!DEDICATED.matcher(algorithm).matches()) {
        algorithm = new PlanChoice(algorithm).text();
      }
    }

    /** The whole of a mesh, or all ranks. */
    public static Work of(String algorithm) {
      return new Work(algorithm, Task.of(Collective.ALL_REDUCE), 0, 1, false);
    }
  }

  private Scenario(
      Work work,
      String label,
      int members,
      Plan plan,
      Network network,
      Optional<Algorithm> algorithm,
      boolean circuit) {
    this.work = work;
    this.label = label;
    this.members = members;
    this.plan = plan;
    this.network = network;
    this.algorithm = algorithm;
    this.circuit = circuit;
    this.servers = algorithm.isPresent() ? 0 : network.ranks() - members;
  }

  /**
   * Plans some work and puts it on a network.
   *
   * @throws IllegalArgumentException if nobody plans it, or it does not fit
   */
  public static Scenario of(Work work, Size size, Fabric fabric) {
    Matcher dedicated = DEDICATED.matcher(work.algorithm());
    if (dedicated.matches()) {
      return dedicated(
          work, dedicated.group(1), Optional.ofNullable(dedicated.group(2)), size, fabric);
    }
    PlanChoice choice = onHosts(new PlanChoice(work.algorithm()), size, fabric.hosts());
    Size group = group(size, work.ways());
    if (work.root() >= group.ranks()) {
      throw new IllegalArgumentException(
          "root " + work.root() + ": ranks of a group are 0 to " + (group.ranks() - 1));
    }
    Algorithm algorithm = choice.algorithm(group);
    Plan plan = plan(choice, work, group);
    Optional<Mesh> planned = choice.mesh(group);
    boolean circuit = work.circuit() && planned.isEmpty() && group.mesh().isPresent();
    if (circuit) {
      int[] way = Circuit.of(group.mesh().get());
      plan = new GroupsPlan(plan, 1, (only, member) -> way[member]);
    }
    if (work.ways() > 1) {
      int ways = work.ways();
      plan = new GroupsPlan(plan, ways, (shard, member) -> shard + ways * member);
    }
    Optional<Mesh> mesh = size.mesh();
    boolean switched = fabric.hosts().ranksPerHost() > 1 || fabric.hosts().racks();
    if (mesh.isEmpty() && !switched && !algorithm.family().equals("hierarchical")) {
      mesh = planned;
    }
    Network network =
        mesh.map(fabric::mesh).orElseGet(() -> fabric.pairs(size.ranks(), size.ranks()));
    return new Scenario(
        work, choice.label(group), group.ranks(), plan, network, Optional.of(algorithm), circuit);
  }

  /** The size of the groups in which ranks that share a model are apart. */
  private static Size group(Size size, int ways) {
    if (ways == 1) {
      return size;
    }
    Mesh mesh =
        size.mesh()
            .orElseThrow(
                () -> new IllegalArgumentException(ways + "-way model parallelism without a mesh"));
    Mesh replicas = new ModelParallelMesh(mesh, ways).replicaMesh();
    return new Size(replicas.ranks(), Optional.of(replicas));
  }

  /** Gives what is planned for a mesh, and leaves it open, a row for each host, as in a job. */
  private static PlanChoice onHosts(PlanChoice choice, Size size, Hosts hosts) {
    int perHost = hosts.ranksPerHost();
    return size.mesh().isEmpty() && perHost > 1 && size.ranks() % perHost == 0
        ? choice.on(Mesh.torus(perHost, size.ranks() / perHost))
        : choice;
  }

  private static Scenario dedicated(
      Work work, String kind, Optional<String> count, Size size, Fabric fabric) {
    if (size.mesh().isPresent() || !work.task().is(Collective.ALL_REDUCE)) {
      throw new IllegalArgumentException(
          work.algorithm() + " plans an all-reduce of ranks that stand in no mesh only");
    }
    int workers = size.ranks();
    boolean atomic = kind.equals(ATOMIC);
    int perHost = atomic ? 1 : Math.min(workers, fabric.hosts().ranksPerHost());
    int servers = count.map(Integer::valueOf).orElse(Math.max(1, workers / perHost));
    Plan plan =
        atomic
            ? AtomicServersPlan.of(workers, servers, AtomicServersPlan.TABLE_II)
            : DedicatedServersPlan.of(workers, perHost, servers);
    return new Scenario(
        work,
        kind + ":" + servers,
        workers,
        plan,
        fabric.pairs(workers + servers, workers),
        Optional.empty(),
        false);
  }

  private static Plan plan(PlanChoice choice, Work work, Size group) {
    List<Plan> plans = new ArrayList<>();
    for (Collective part : work.task().parts()) {
      plans.add(choice.plan(group, part, part.rooted() ? work.root() : 0));
    }
    if (plans.size() == 1) {
      return plans.get(0);
    }
    Plan first = plans.get(0);
    Plan second = plans.get(1);
    if (first.chunks() != second.chunks() || first.lanes() != second.lanes()) {
      throw new IllegalArgumentException(
          work.algorithm() + " cuts the payload of " + work.task() + " in two ways");
    }
    Rounds[] lanes = new Rounds[first.lanes()];
    for (int lane = 0; lane < lanes.length; lane++) {
      lanes[lane] = rounds(first, lane).then(rounds(second, lane));
    }
    return Plan.of(PlanRequest.of(Collective.ALL_REDUCE, first.ranks()), first.chunks(), lanes);
  }

  private static Rounds rounds(Plan plan, int lane) {
    return Rounds.of(plan.rounds(lane), (round, sink) -> plan.transfers(lane, round, sink));
  }

  /** The algorithm, with what was left open. */
  public String label() {
    return label;
  }

  /** Returns how many ranks have a payload and get a result together: a group of them. */
  public int members() {
    return members;
  }

  /**
   * Returns whether there are servers that have no payload of their own: others carry it once each
   * way.
   */
  public boolean serves() {
    return servers > 0
        || algorithm
            .filter(own -> own instanceof Algorithm.ParameterServer some && some.dedicated() > 0)
            .isPresent();
  }

  /**
   * Returns the number of those among whom the slowest links are shared out evenly: the hosts of
   * members that share NICs, if there are several, else the members.
   */
  public int parties() {
    Hosts hosts = network.hosts();
    int sharing = (members + hosts.ranksPerHost() - 1) / hosts.ranksPerHost();
    return hosts.nicNanosPerByte() > 0 && sharing > 1 ? sharing : members;
  }

  /** All that are on the network, among them servers that have no payload of their own. */
  public int ranks() {
    return network.ranks();
  }

  /** The network. */
  public Network network() {
    return network;
  }

  Plan plan() {
    return plan;
  }

  Work work() {
    return work;
  }

  Optional<Algorithm> algorithm() {
    return algorithm;
  }

  /** Returns whether members are numbered along a circuit of neighbors. */
  boolean circuit() {
    return circuit;
  }

  /** Returns whether servers have whole variables, not equal shares. */
  boolean atomic() {
    return label.startsWith(ATOMIC);
  }

  /**
   * Returns the ranks of each group on a mesh, in the order in which the plan numbers them: all of
   * them are at work at once.
   */
  public List<List<Integer>> groups() {
    Size whole = new Size(network.ranks(), network.mesh());
    int[] way = circuit ? Circuit.of(group(whole, work.ways()).mesh().get()) : new int[0];
    List<List<Integer>> groups = new ArrayList<>();
    for (int shard = 0; shard < work.ways(); shard++) {
      List<Integer> ranks = new ArrayList<>();
      for (int member = 0; member < members; member++) {
        ranks.add(shard + work.ways() * (circuit ? way[member] : member));
      }
      groups.add(ranks);
    }
    return groups;
  }

  /** Returns what each link of a mesh carries of payloads of so many bytes. */
  public List<LinkLoad> loads(double bytes) {
    return LinkLoad.of(plan, network, costs(bytes, 1, 0).bytes());
  }

  /** Returns a time in nanoseconds that no plan can go below, if one is known. */
  public OptionalDouble least(double bytes) {
    return LeastTime.nanos(this, bytes);
  }

  /**
   * Returns into how many slabs the library cuts payloads.
   *
   * @param frameLength the most bytes of a frame
   */
  public int slabs(double bytes, int frameLength) {
    int[] most = {1};
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(
            lane, round, (from, to, first, count, effect) -> most[0] = Math.max(most[0], count));
      }
    }
    double longest = costs(bytes, 1, 0).bytes() / plan.chunks() * most[0];
    return (int) Math.max(1, Math.ceil(longest / frameLength));
  }

  /** Returns how many servers there are beside the members. */
  int servers() {
    return servers;
  }

  /** Costs of a payload of each member. */
  public Costs costs(double bytes, int slabs, double addNanosPerByte) {
    double all =
        work.task().is(Collective.ALL_TO_ALL)
            ? bytes * members
            : work.task().is(Collective.BARRIER) ? 0 : bytes;
    return new Costs(all, slabs, addNanosPerByte);
  }

  /**
   * Moves clocks through the plan.
   *
   * @throws IllegalArgumentException if it is too large
   */
  public Outcome run(Costs costs) {
    return run(costs, Service.PLAN);
  }

  /**
   * Moves clocks through the plan on links that serve in some order.
   *
   * @throws IllegalArgumentException if it is too large
   */
  public Outcome run(Costs costs, Service service) {
    return switch (service) {
      case PLAN -> Simulation.run(plan, network, costs);
      case ARRIVAL -> ServedByArrival.run(plan, network, costs);
    };
  }

  /** Returns what it takes by a formula, in nanoseconds, if there is one. */
  public OptionalDouble closedForm(Costs costs) {
    return ClosedForm.nanos(this, costs);
  }
}
