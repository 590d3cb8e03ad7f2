package io.collectives.plan;

import io.collectives.Collective;
import java.util.List;

/** A plan that consists of the rounds of its lanes. */
record LanePlan(PlanRequest request, int contributors, int chunks, List<Rounds> rounds)
    implements Plan {

  LanePlan {
    if (chunks < 1 || rounds.isEmpty()) {
      throw new IllegalArgumentException(
          "a plan of "
              + request.ranks()
              + " ranks, "
              + chunks
              + " chunks and "
              + rounds.size()
              + " lanes: at least 1 of each is needed");
    }
  }

  @Override
  public Collective collective() {
    return request.collective();
  }

  @Override
  public int ranks() {
    return request.ranks();
  }

  @Override
  public int root() {
    return request.root();
  }

  @Override
  public int lanes() {
    return rounds.size();
  }

  @Override
  public int rounds(int lane) {
    return rounds.get(lane).count();
  }

  @Override
  public void transfers(int lane, int round, Transfer.Sink sink) {
    rounds.get(lane).transfers(round, sink);
  }

  @Override
  public String toString() {
    List<Integer> counts = rounds.stream().map(Rounds::count).toList();
    String root = collective().rooted() ? ", root " + root() : "";
    String serving = contributors < ranks() ? ", of which " + contributors + " contribute" : "";
    return collective()
        + " of "
        + ranks()
        + " ranks"
        + serving
        + root
        + ", "
        + chunks
        + " chunks, rounds by lane "
        + counts;
  }
}
