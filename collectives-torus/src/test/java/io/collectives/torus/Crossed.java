package io.collectives.torus;

import io.collectives.Mesh;
import io.collectives.plan.Plan;

/**
 * The numbers of chunks that cross each link of a mesh, in each direction: by direction, then by
 * the place at which the link begins. All transfers are between neighbours.
 */
record Crossed(Mesh mesh, long[][] chunks) {
  static final int X_UP = 0;
  static final int X_DOWN = 1;
  static final int Y_UP = 2;
  static final int Y_DOWN = 3;

  static Crossed of(Plan plan, Mesh mesh) {
    Crossed crossed = none(mesh);
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        crossed.add(plan, lane, round);
      }
    }
    return crossed;
  }

  static Crossed none(Mesh mesh) {
    return new Crossed(mesh, new long[4][mesh.ranks()]);
  }

  void add(Plan plan, int lane, int round) {
    plan.transfers(
        lane,
        round,
        (from, to, first, count, effect) -> {
          int x = mesh.x();
          if (from / x == to / x) {
            pass(from, x, mesh.wrapX(), from % x, to % x, X_UP, count);
          } else {
            pass(from, mesh.y(), mesh.wrapY(), from / x, to / x, Y_UP, count);
          }
        });
  }

  long[] chunks(int direction) {
    return chunks[direction];
  }

  private void pass(int rank, int places, boolean wraps, int from, int to, int up, int count) {
    boolean round = wraps && places > 2;
    boolean goesUp = round ? Math.floorMod(to - from, places) == 1 : to > from;
    chunks[goesUp ? up : up + 1][rank] += count;
  }
}
