package io.collectives.bench.compare;

import io.collectives.Collective;
import java.io.IOException;
import java.util.List;

/**
 * A library that a Java user could take instead of this one; the last is what there is to reach.
 */
public enum Peer {
  /** Open MPI, by {@code mpirun}. */
  OPENMPI("openmpi", new OpenMpi()),
  /** Gloo, from C++. */
  GLOO("gloo", new Gloo()),
  /** Gloo as torch.distributed has it, from Java. */
  PYTORCH_GLOO("pytorch-gloo", JavaPeer.pytorchGloo()),
  /** The all-reduce of XGBoost, from Java. */
  RABIT("rabit", JavaPeer.rabit()),
  /** The {@code treeAggregate} of Spark, from Java. */
  SPARK("spark", JavaPeer.spark()),
  /** A C program without a library. */
  C_SHM("c-shm", new SharedMemoryC());

  /** Enough for a program without a compiler to meet its pages and to open its connections. */
  private static final long AHEAD_NANOS = 2_000_000_000L;

  private final String label;
  private final PeerKit kit;

  Peer(String label, PeerKit kit) {
    this.label = label;
    this.kit = kit;
  }

  /**
   * The ways in which it makes a collective over a medium, of which the best counts; none if it
   * cannot.
   */
  public List<String> variants(Collective collective, Medium medium) {
    return kit.variants(collective, medium);
  }

  /**
   * Builds what is not built yet.
   *
   * @throws MissingPeerException if what it takes is not on this machine
   */
  public void prepare(PeerBuild build)
      throws MissingPeerException, IOException, InterruptedException {
    kit.prepare(build);
  }

  /**
   * Returns how long it runs before it is measured.
   *
   * @param nanos how long this library does
   */
  public long warmUp(long nanos) {
    return kit.compilesAhead() ? Math.min(nanos, AHEAD_NANOS) : nanos;
  }

  PeerKit kit() {
    return kit;
  }

  /** The name on the command line. */
  @Override
  public String toString() {
    return label;
  }
}
