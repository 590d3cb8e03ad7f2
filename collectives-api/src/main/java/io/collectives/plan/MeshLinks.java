package io.collectives.plan;

import io.collectives.Mesh;

/** The rule of {@link PlanVerifier} for plans that are made for a mesh. */
final class MeshLinks {
  private MeshLinks() {}

  /**
   * Checks a plan whose ranks are known to be valid.
   *
   * @throws InvalidPlanException at the first transfer that needs a link which the mesh lacks
   */
  static void check(Plan plan, Mesh mesh) {
    if (mesh.ranks() != plan.ranks()) {
      throw new InvalidPlanException(
          "a plan of " + plan.ranks() + " ranks on mesh " + mesh + " of " + mesh.ranks());
    }
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        int inLane = lane;
        int inRound = round;
        plan.transfers(
            lane,
            round,
            (from, to, firstChunk, chunkCount, effect) -> {
              if (!linked(mesh, from, to)) {
                String fault =
                    ": mesh "
                        + mesh
                        + " has no such link from column "
                        + from % mesh.x()
                        + ", row "
                        + from / mesh.x()
                        + " to column "
                        + to % mesh.x()
                        + ", row "
                        + to / mesh.x();
                throw InvalidPlanException.of(inLane, inRound, from, to, firstChunk, fault);
              }
            });
      }
    }
  }

  private static boolean linked(Mesh mesh, int from, int to) {
    int across = to % mesh.x() - from % mesh.x();
    int down = to / mesh.x() - from / mesh.x();
    return down == 0 && near(across, mesh.x(), mesh.wrapX())
        || across == 0 && near(down, mesh.y(), mesh.wrapY());
  }

  private static boolean near(int distance, int places, boolean wraps) {
    int away = Math.abs(distance);
    return away == 1 || wraps && away == places - 1;
  }
}
