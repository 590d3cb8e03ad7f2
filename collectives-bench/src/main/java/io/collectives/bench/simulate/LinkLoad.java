package io.collectives.bench.simulate;

import io.collectives.bench.network.MeshLinks;
import io.collectives.plan.Plan;
import java.util.ArrayList;
import java.util.List;

/**
 * The load of a link of a mesh in one run of a plan.
 *
 * @param link its number, as {@link MeshLinks} says
 * @param name as {@code 3->4}
 * @param links its class
 * @param bytes what it carries; 0 if the plan does not use it
 */
public record LinkLoad(int link, String name, LinkClass links, double bytes) {

  /** Adds up what each link carries if chunks are equal. */
  static List<LinkLoad> of(Plan plan, Network network, double bytes) {
    double[] carried = new double[network.pages() * network.ranks()];
    int[] path = new int[network.longestPath()];
    double chunk = bytes / plan.chunks();
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(
            lane,
            round,
            (from, to, first, count, effect) -> {
              int hops = network.path(from, to, path);
              for (int hop = 0; hop < hops; hop++) {
                carried[path[hop]] += chunk * count;
              }
            });
      }
    }
    MeshLinks of = new MeshLinks(network.mesh().orElseThrow());
    List<LinkLoad> loads = new ArrayList<>();
    for (int link = 0; link < carried.length; link++) {
      if (of.has(link)) {
        loads.add(new LinkLoad(link, network.name(link), network.linkClass(link), carried[link]));
      }
    }
    return loads;
  }
}
