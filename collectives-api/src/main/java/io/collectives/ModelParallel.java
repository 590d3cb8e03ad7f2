package io.collectives;

import java.util.ArrayList;
import java.util.List;

/**
 * The groups of a rank in a job with strided model parallelism (Kumar et al. 2021, figure 4), each
 * with the algorithm that suits its position on the mesh; {@link ModelParallelMesh} has a picture
 * of them.
 *
 * <p>The groups are independent of each other: calls on different ones may be under way at once, be
 * made in different orders on different ranks, and be waited for in any order. On each group the
 * rules of {@link Communicator} hold. Either all ranks of the job make this object or none does.
 * Any thread may use it.
 */
public final class ModelParallel implements AutoCloseable {
  private final ModelParallelMesh mesh;

  /** The groups of which the other fields are views. */
  private final List<Communicator> groups = new ArrayList<>();

  private final Communicator modelGroup;
  private final Communicator column;
  private final Communicator stridedRow;
  private final Communicator replicas;

  private ModelParallel(Communicator job, ModelParallelMesh mesh) {
    Mesh all = mesh.mesh();
    Mesh replicaMesh = mesh.replicaMesh();
    int rank = job.rank();
    this.mesh = mesh;
    this.modelGroup = group(job, mesh.modelGroup(rank), mesh.modelMesh());
    this.column = group(job, mesh.columnGroup(rank), new Mesh(1, all.y(), false, all.wrapY()));
    this.stridedRow =
        group(job, mesh.stridedRowGroup(rank), new Mesh(replicaMesh.x(), 1, all.wrapX(), false));
    this.replicas = group(job, mesh.replicaGroup(rank), replicaMesh);
  }

  private Communicator group(Communicator job, int[] ranks, Mesh mesh) {
    Communicator group = job.group(ranks);
    groups.add(group);
    return group.using(Algorithm.torus(mesh));
  }

  /**
   * Makes the groups of this rank. No bytes move until their first calls.
   *
   * @param job a group with a rank for each place of the mesh, rank r at place r; the new groups
   *     have its settings
   */
  public static ModelParallel of(Communicator job, ModelParallelMesh mesh) {
    if (job.size() != mesh.mesh().ranks()) {
      throw new IllegalArgumentException(
          "mesh "
              + mesh.mesh()
              + " for a group of "
              + job.size()
              + " ranks: it must have a place for each");
    }
    return new ModelParallel(job, mesh);
  }

  /** Returns the mesh. */
  public ModelParallelMesh mesh() {
    return mesh;
  }

  /**
   * Returns the group of the ranks that share a model with this one, in the order of shards;
   * activations are exchanged in it.
   */
  public Communicator modelGroup() {
    return modelGroup;
  }

  /** Returns the group of the ranks in this one's column, in the order of rows. */
  public Communicator column() {
    return column;
  }

  /**
   * Returns the group of the ranks in this one's row that hold the same shard, in the order of
   * columns.
   */
  public Communicator stridedRow() {
    return stridedRow;
  }

  /**
   * Returns the group of all ranks that hold the same shard, arranged on {@link
   * ModelParallelMesh#replicaMesh}.
   */
  public Communicator replicas() {
    return replicas;
  }

  /**
   * Reduces the gradients of this rank's shard with those of its replicas, in place, along the
   * columns and the strided rows: {@link Algorithm#torus} on {@link ModelParallelMesh#replicaMesh}.
   */
  public void allReduceGradients(Payload gradients, ReduceOp op) {
    replicas.allReduce(gradients, op);
  }

  /** Starts {@link #allReduceGradients} and returns at once. */
  public CollectiveHandle allReduceGradientsAsync(Payload gradients, ReduceOp op) {
    return replicas.async().allReduce(gradients, op);
  }

  /** Leaves the four groups; the job's own group stays as it is. */
  @Override
  public void close() {
    groups.forEach(Communicator::close);
  }
}
