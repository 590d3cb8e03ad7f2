package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanVerifier;
import io.collectives.spi.PlanProvider;
import java.util.ServiceLoader;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every algorithm of this module: proven, counted, and found. */
class TorusPlanProviderTest {
  private static final PlanProvider PROVIDER = new TorusPlanProvider();

  private static Plan allReduce(Algorithm algorithm, int ranks) {
    return PROVIDER.plan(algorithm, Collective.ALL_REDUCE, ranks).orElseThrow();
  }

  private static PlanFigures verify(Algorithm algorithm, int ranks) {
    return PlanVerifier.verify(allReduce(algorithm, ranks), 1, 0);
  }

  static Stream<Algorithm> flat() {
    return Stream.of(Algorithm.ring(), Algorithm.bidirectionalRing(), Algorithm.direct());
  }

  static Stream<Mesh> meshes() {
    return IntStream.rangeClosed(1, 64)
        .boxed()
        .flatMap(x -> IntStream.rangeClosed(1, 64 / x).mapToObj(y -> Mesh.torus(x, y)));
  }

  @ParameterizedTest
  @MethodSource("flat")
  void everyPlanIsRight(Algorithm algorithm) {
    IntStream.rangeClosed(1, 64).forEach(n -> verify(algorithm, n));
  }

  @Test
  void everyTorusIsRight() {
    meshes().forEach(mesh -> verify(Algorithm.torus(mesh), mesh.ranks()));
  }

  @ParameterizedTest
  @MethodSource("flat")
  void everyBarrierIsRight(Algorithm algorithm) {
    for (int n = 1; n <= 70; n++) {
      Plan barrier = PROVIDER.plan(algorithm, Collective.BARRIER, n).orElseThrow();
      assertEquals(
          Integer.SIZE - Integer.numberOfLeadingZeros(n - 1),
          PlanVerifier.verify(barrier).rounds());
    }
  }

  @Test
  void torusHasABarrier() {
    Algorithm torus = Algorithm.torus(Mesh.torus(3, 4));
    Plan barrier = PROVIDER.plan(torus, Collective.BARRIER, 12).orElseThrow();
    assertEquals(4, PlanVerifier.verify(barrier).rounds());
    assertThrows(
        IllegalArgumentException.class, () -> PROVIDER.plan(torus, Collective.BARRIER, 11));
  }

  /** In units of the payload M over its chunks, so that fractions are whole numbers. */
  @Test
  void stepsAndBytesAreThoseOfTheDocumentation() {
    for (int n = 2; n <= 64; n++) {
      PlanFigures ring = verify(Algorithm.ring(), n);
      assertEquals(
          new PlanFigures(
              n,
              n,
              1,
              2 * (n - 1),
              ring.transfers(),
              2L * (n - 1),
              2L * (n - 1),
              2L * (n - 1),
              1,
              n,
              n == 2 ? 1 : 2),
          ring);

      PlanFigures two = verify(Algorithm.bidirectionalRing(), n);
      assertEquals(
          new PlanFigures(
              n,
              2 * n,
              2,
              2 * (n - 1),
              two.transfers(),
              4L * (n - 1),
              4L * (n - 1),
              4L * (n - 1),
              1,
              n == 2 ? 2 : 2 * n,
              n == 2 ? 1 : 2),
          two);

      PlanFigures direct = verify(Algorithm.direct(), n);
      assertEquals(
          new PlanFigures(
              n,
              n,
              1,
              2,
              2L * n * (n - 1),
              2L * (n - 1),
              2L * (n - 1),
              2L * (n - 1),
              1,
              n * (n - 1),
              n - 1),
          direct);
    }
    meshes()
        .forEach(
            mesh -> {
              int n = mesh.ranks();
              PlanFigures torus = verify(Algorithm.torus(mesh), n);
              assertEquals(2 * (mesh.x() - 1) + 2 * (mesh.y() - 1), torus.rounds());
              assertEquals(4L * (n - 1), torus.mostChunksSent(), "2M(n-1)/n in 2n chunks");
              assertEquals(4L * (n - 1), torus.leastChunksSent());
              assertTrue(torus.mostPeers() <= 4);
            });
  }

  @Test
  void oneRankHasNothingToDo() {
    Stream.concat(flat(), Stream.of(Algorithm.torus(Mesh.torus(1, 1))))
        .forEach(
            algorithm -> {
              assertEquals(0, verify(algorithm, 1).rounds());
              assertEquals(
                  0,
                  PlanVerifier.verify(PROVIDER.plan(algorithm, Collective.BARRIER, 1).orElseThrow())
                      .rounds());
            });
  }

  @Test
  void meshMustHaveAsManyPlacesAsTheGroupHasRanks() {
    assertEquals(
        "torus 4x2 has 8 places, the group has 6 ranks: they must be as many, as on"
            + " Mesh.torusOf(6), 3x2",
        refusal(Mesh.torus(4, 2), 6));
  }

  @Test
  void meshMustWrap() {
    assertEquals(
        "torus 128x32 wrap=y: the 128 places of dimension x do not wrap, and rings along a line are"
            + " not available; if they are linked, use Mesh.torus(128, 32)",
        refusal(new Mesh(128, 32, false, true), 4096));
    assertEquals(
        "torus 2x3 wrap=x: the 3 places of dimension y do not wrap, and rings along a line are not"
            + " available; if they are linked, use Mesh.torus(2, 3)",
        refusal(new Mesh(2, 3, true, false), 6));
    verify(Algorithm.torus(new Mesh(2, 2, false, false)), 4);
    verify(Algorithm.torus(new Mesh(1, 3, false, true)), 3);
  }

  @Test
  void otherAlgorithmsAreNotItsOwn() {
    for (Collective collective : Collective.values()) {
      assertTrue(PROVIDER.plan(Algorithm.named("mine"), collective, 4).isEmpty());
      assertTrue(PROVIDER.plan(Algorithm.parameterServer(2), collective, 4).isEmpty());
    }
  }

  @Test
  void isFoundOnTheClassPath() {
    PlanProvider found = ServiceLoader.load(PlanProvider.class).findFirst().orElseThrow();
    assertInstanceOf(TorusPlanProvider.class, found);
  }

  private static String refusal(Mesh mesh, int ranks) {
    return assertThrows(
            IllegalArgumentException.class, () -> allReduce(Algorithm.torus(mesh), ranks))
        .getMessage();
  }
}
