package io.collectives.bench.simulate;

import io.collectives.Collective;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The times of calls of some ranks on a network, each by that of some algorithms that takes the
 * least time: clocks are moved through the plans that the engine runs.
 *
 * <p>Instances remember what they have simulated, and are for one thread.
 */
public final class CallPrices {
  private static final String PER_RANK = "/rank";

  private final List<String> algorithms;
  private final Size size;
  private final Fabric fabric;
  private final Software software;
  private final Map<Collective, List<Scenario>> scenarios = new HashMap<>();
  private final Map<String, Double> simulated = new HashMap<>();

  /**
   * The costs of ranks beside those of links.
   *
   * @param slabs into how many parts each chunk is cut, which follow each other
   * @param addNanosPerByte how long it takes to add a byte
   * @param call what a call costs beside its transfers
   */
  public record Software(int slabs, double addNanosPerByte, CallCost call) {
    /** Only links take time, and chunks are whole. */
    public static final Software NONE = new Software(1, 0, CallCost.NONE);
  }

  /**
   * A cost of each call beside its transfers.
   *
   * @param nanos whatever the number of ranks is
   * @param nanosPerRank for each rank of the call, as where one rank hears of all that they are
   *     ready
   */
  public record CallCost(double nanos, double nanosPerRank) {
    /** Calls cost what their transfers take. */
    public static final CallCost NONE = new CallCost(0, 0);

    /**
     * Reads a time, or one with {@code /rank} at its end.
     *
     * @throws IllegalArgumentException if it is neither
     */
    public static CallCost parse(String text) {
      boolean isPerRank = text.strip().endsWith(PER_RANK);
      try {
        double time = Quantities.nanos(isPerRank ? text.strip().replace(PER_RANK, "") : text);
        return isPerRank ? new CallCost(0, time) : new CallCost(time, 0);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(e.getMessage() + ", or as 60us/rank", e);
      }
    }

    double of(int ranks) {
      return nanos + nanosPerRank * ranks;
    }
  }

  /**
   * Prices of calls.
   *
   * @param algorithms as for {@link Scenario.Work}, at least one
   */
  public CallPrices(List<String> algorithms, Size size, Fabric fabric, Software software) {
    this.algorithms = List.copyOf(algorithms);
    this.size = size;
    this.fabric = fabric;
    this.software = software;
  }

  /** Returns how many ranks there are. */
  public int ranks() {
    return size.ranks();
  }

  /**
   * Returns the plan of the first algorithm that plans a collective, on its network.
   *
   * @throws IllegalArgumentException as {@link #nanos}
   */
  public Scenario first(Collective collective) {
    return scenarios(collective).get(0);
  }

  /**
   * Returns the time of a call in nanoseconds; with no bytes, what latencies alone take.
   *
   * @throws IllegalArgumentException if no algorithm plans it for so many ranks
   */
  public double nanos(Collective collective, double bytes) {
    return simulated.computeIfAbsent(
        collective + " " + bytes,
        key ->
            software.call().of(size.ranks())
                + scenarios(collective).stream()
                    .mapToDouble(each -> nanos(each, bytes))
                    .min()
                    .orElseThrow());
  }

  private double nanos(Scenario scenario, double bytes) {
    return scenario
        .run(scenario.costs(bytes, software.slabs(), software.addNanosPerByte()))
        .nanos();
  }

  private List<Scenario> scenarios(Collective collective) {
    return scenarios.computeIfAbsent(collective, key -> plan(collective));
  }

  private List<Scenario> plan(Collective collective) {
    List<Scenario> planned = new ArrayList<>();
    String why = "";
    for (String algorithm : algorithms) {
      try {
        Scenario.Work work = new Scenario.Work(algorithm, Task.of(collective), 0, 1, false);
        planned.add(Scenario.of(work, size, fabric));
      } catch (IllegalArgumentException e) {
        why = e.getMessage(); // It does not plan this, or not for so many ranks.
      }
    }
    if (planned.isEmpty()) {
      throw new IllegalArgumentException(why);
    }
    return planned;
  }
}
