package io.collectives.bench.compare;

import io.collectives.Collective;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A C program without a library, which sums in shared memory: an anchor, of all-reduces only. */
final class SharedMemoryC implements PeerKit {
  private static final List<String> PACKAGES = List.of("gcc", "libc6-dev");
  private static final String NAME = "c-shm";

  @Override
  public boolean compilesAhead() {
    return true;
  }

  @Override
  public List<String> variants(Collective collective, Medium medium) {
    return collective == Collective.ALL_REDUCE && medium == Medium.MEMORY
        ? List.of("one-wait", "slots")
        : List.of();
  }

  @Override
  public void prepare(PeerBuild build)
      throws MissingPeerException, IOException, InterruptedException {
    Path compiler = build.need(PACKAGES, "gcc", "cc");
    Path directory = build.directory(NAME);
    build.compile(
        PACKAGES,
        directory,
        Map.of("shm_peer.c", PeerBuild.resource("shm_peer.c")),
        List.of(
            compiler.toString(),
            "-O3",
            "-march=native",
            "-o",
            program(build),
            directory.resolve("shm_peer.c").toString()));
  }

  private static String program(PeerBuild build) throws IOException {
    return build.directory(NAME).resolve("shm_peer").toString();
  }

  @Override
  public List<Start> starts(PeerBuild build, PeerJob job, Path scratch) throws IOException {
    return Collections.nCopies(
        job.ranks(),
        new Start(
            List.of(program(build), job.collective().toString(), job.variant(), scratch.toString()),
            Map.of()));
  }
}
