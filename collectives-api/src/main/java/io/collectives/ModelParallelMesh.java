package io.collectives;

/**
 * A mesh of ranks on which {@code ways} neighbours along X share one model. This is the strided
 * model parallelism of Kumar et al. 2021, figure 4.
 *
 * <p>Each run of {@code ways} columns of a row is one <em>model group</em>, whose ranks hold the
 * shards 0 to {@code ways - 1} of the model's weights. The ranks that hold the same shard are its
 * <em>replicas</em>; the gradients of replicas are summed. On 8 by 2 ranks with 4 ways, ranks and
 * shards are:
 *
 * <pre>
 *              model group          model group
 *         |  0   1   2   3  |    4   5   6   7  |     row 0
 *         |  8   9  10  11  |   12  13  14  15  |     row 1
 *   shard    0   1   2   3       0   1   2   3
 *
 *   rank 5   model group 4 5 6 7,  column 5 13,  strided row 1 5,  replicas 1 5 9 13
 * </pre>
 *
 * <ul>
 *   <li>{@link #modelGroup}: a short ring of neighbours, for activations.
 *   <li>{@link #columnGroup}: a ring along Y, as without model parallelism.
 *   <li>{@link #stridedRowGroup}: a ring along X that hops over the rest of each model group. The
 *       {@code ways} rings of a row of k = X / {@code ways} model groups cross each link of it once
 *       in each of the 2(k-1) rounds of an all-reduce; with gradients of M bytes in all, M / {@code
 *       ways} of a shard, 2M(k-1)/k bytes cross each link each way.
 *   <li>{@link #replicaGroup}: both together, in the order of {@link #replicaMesh}; the gradients
 *       are summed in it by {@link Algorithm#torus Algorithm.torus(replicaMesh())}, whose rings are
 *       the columns and the strided rows.
 * </ul>
 *
 * <p>Groups hold ranks of the mesh in ascending order, and are new arrays for each call.
 *
 * @param mesh the arrangement of all ranks
 * @param ways the number of neighbours along X that share a model; the mesh's width is a multiple
 *     of it
 */
public record ModelParallelMesh(Mesh mesh, int ways) {

  /** Checks that model groups fill the rows. */
  public ModelParallelMesh {
    if (ways < 1 || mesh.x() % ways != 0) {
      throw new IllegalArgumentException(
          ways
              + "-way model parallelism on mesh "
              + mesh
              + ": the width "
              + mesh.x()
              + " must be a multiple of the ways");
    }
  }

  /** Returns the shard of the model that a rank holds, from 0 to {@code ways - 1}. */
  public int shard(int rank) {
    return column(rank) % ways;
  }

  /** Returns the ranks that share a model with this one: entry i holds shard i. */
  public int[] modelGroup(int rank) {
    return strided(check(rank) - shard(rank), 1, ways);
  }

  /** Returns the ranks of this one's column, in the order of rows. */
  public int[] columnGroup(int rank) {
    return strided(column(rank), mesh.x(), mesh.y());
  }

  /** Returns the ranks of this one's row that hold the same shard, in the order of columns. */
  public int[] stridedRowGroup(int rank) {
    return strided(check(rank) - column(rank) + shard(rank), ways, groupsInRow());
  }

  /**
   * Returns all ranks that hold the same shard as this one: entry i is at place i of {@link
   * #replicaMesh}.
   */
  public int[] replicaGroup(int rank) {
    return strided(shard(rank), ways, groupsInRow() * mesh.y());
  }

  /**
   * Returns the mesh of a replica group: it has as many rows, and a column for each model group of
   * a row. It wraps where the whole mesh does, and along X its neighbours are {@code ways} places
   * apart.
   */
  public Mesh replicaMesh() {
    return new Mesh(groupsInRow(), mesh.y(), mesh.wrapX(), mesh.wrapY());
  }

  /**
   * Returns the mesh of a model group: one row, which wraps only if it is a whole row of a mesh
   * that does.
   */
  public Mesh modelMesh() {
    return new Mesh(ways, 1, mesh.wrapX() && ways == mesh.x(), false);
  }

  private int groupsInRow() {
    return mesh.x() / ways;
  }

  private int column(int rank) {
    return check(rank) % mesh.x();
  }

  private int check(int rank) {
    if (rank < 0 || rank >= mesh.ranks()) {
      throw new IllegalArgumentException(
          "rank " + rank + " on mesh " + mesh + ": ranks are 0 to " + (mesh.ranks() - 1));
    }
    return rank;
  }

  private static int[] strided(int start, int stride, int count) {
    int[] ranks = new int[count];
    for (int i = 0; i < count; i++) {
      ranks[i] = start + i * stride;
    }
    return ranks;
  }
}
