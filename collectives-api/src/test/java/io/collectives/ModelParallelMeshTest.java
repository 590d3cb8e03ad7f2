package io.collectives;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ModelParallelMeshTest {

  @Test
  void groupsOfTheDocumentedRank() {
    ModelParallelMesh mesh = new ModelParallelMesh(new Mesh(8, 2, true, false), 4);
    assertEquals(1, mesh.shard(5));
    assertArrayEquals(new int[] {4, 5, 6, 7}, mesh.modelGroup(5));
    assertArrayEquals(new int[] {5, 13}, mesh.columnGroup(5));
    assertArrayEquals(new int[] {1, 5}, mesh.stridedRowGroup(5));
    assertArrayEquals(new int[] {1, 5, 9, 13}, mesh.replicaGroup(5));
    assertArrayEquals(new int[] {12, 13, 14, 15}, mesh.modelGroup(14));
    assertArrayEquals(new int[] {10, 14}, mesh.stridedRowGroup(14));
    assertEquals(new Mesh(2, 2, true, false), mesh.replicaMesh());
    assertEquals(new Mesh(4, 1, false, false), mesh.modelMesh());
    assertEquals(
        new Mesh(8, 1, true, false),
        new ModelParallelMesh(new Mesh(8, 2, true, false), 8).modelMesh());
  }

  /** The groups of each kind deal the ranks out, and all ranks of a group name the same one. */
  @Test
  void groupsOfAKindAreAPartition() {
    forAll(
        mesh -> {
          for (int rank = 0; rank < mesh.mesh().ranks(); rank++) {
            for (int kind = 0; kind < 4; kind++) {
              int[] group = group(mesh, kind, rank);
              assertTrue(Arrays.binarySearch(group, rank) >= 0, () -> "own group of " + mesh);
              for (int other : group) {
                assertArrayEquals(group, group(mesh, kind, other));
              }
            }
          }
        });
  }

  /** Rows and columns of the replicas' mesh are the strided rows and the columns. */
  @Test
  void aReplicaGroupIsAMeshOfStridedRowsAndColumns() {
    forAll(
        mesh -> {
          for (int rank = 0; rank < mesh.mesh().ranks(); rank++) {
            int[] replicas = mesh.replicaGroup(rank);
            Mesh places = mesh.replicaMesh();
            assertEquals(places.ranks(), replicas.length);
            int at = Arrays.binarySearch(replicas, rank);
            int column = at % places.x();
            int row = at / places.x();
            assertArrayEquals(
                mesh.columnGroup(rank),
                IntStream.range(0, places.y())
                    .map(y -> replicas[places.rankAt(column, y)])
                    .toArray());
            assertArrayEquals(
                mesh.stridedRowGroup(rank),
                IntStream.range(0, places.x()).map(x -> replicas[places.rankAt(x, row)]).toArray());
            for (int replica : replicas) {
              assertEquals(mesh.shard(rank), mesh.shard(replica));
            }
          }
        });
  }

  @Test
  void aModelGroupHoldsEachShardOnceAmongNeighbours() {
    forAll(
        mesh -> {
          int[] group = mesh.modelGroup(mesh.mesh().ranks() - 1);
          for (int shard = 0; shard < mesh.ways(); shard++) {
            assertEquals(shard, mesh.shard(group[shard]));
            assertEquals(group[0] + shard, group[shard]);
            assertEquals(group[0] / mesh.mesh().x(), group[shard] / mesh.mesh().x());
          }
        });
  }

  @Test
  void refusesWhatCannotBe() {
    assertEquals(
        "3-way model parallelism on mesh 8x2: the width 8 must be a multiple of the ways",
        assertThrows(
                IllegalArgumentException.class, () -> new ModelParallelMesh(Mesh.torus(8, 2), 3))
            .getMessage());
    assertThrows(IllegalArgumentException.class, () -> new ModelParallelMesh(Mesh.torus(8, 2), 0));
    ModelParallelMesh mesh = new ModelParallelMesh(Mesh.torus(8, 2), 4);
    assertEquals(
        "rank 16 on mesh 8x2: ranks are 0 to 15",
        assertThrows(IllegalArgumentException.class, () -> mesh.replicaGroup(16)).getMessage());
    assertThrows(IllegalArgumentException.class, () -> mesh.modelGroup(-1));
    assertThrows(IllegalArgumentException.class, () -> mesh.stridedRowGroup(16));
    assertThrows(IllegalArgumentException.class, () -> mesh.columnGroup(16));
  }

  private static int[] group(ModelParallelMesh mesh, int kind, int rank) {
    return switch (kind) {
      case 0 -> mesh.modelGroup(rank);
      case 1 -> mesh.columnGroup(rank);
      case 2 -> mesh.stridedRowGroup(rank);
      default -> mesh.replicaGroup(rank);
    };
  }

  private static void forAll(Consumer<ModelParallelMesh> check) {
    for (int x = 1; x <= 12; x++) {
      for (int ways = 1; ways <= x; ways++) {
        for (int y = 1; y <= 4 && x % ways == 0; y++) {
          check.accept(new ModelParallelMesh(Mesh.torus(x, y), ways));
        }
      }
    }
  }
}
