package io.collectives.bench.compare;

import io.collectives.Collective;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Gloo from C++, which talks over TCP only. Its reduce-scatter is wrong now and then. */
final class Gloo implements PeerKit {
  private static final List<String> PACKAGES = List.of("g++", "libgloo-dev");
  private static final String NAME = "gloo";

  @Override
  public boolean compilesAhead() {
    return true;
  }

  @Override
  public List<String> variants(Collective collective, Medium medium) {
    if (medium != Medium.TCP) {
      return List.of();
    }
    return switch (collective) {
      case ALL_REDUCE -> List.of("ring", "bcube", "ring-chunked", "halving-doubling");
      case ALL_GATHER -> List.of("ring");
      case BROADCAST -> List.of("binomial-tree", "one-to-all");
      default -> List.of();
    };
  }

  @Override
  public void prepare(PeerBuild build)
      throws MissingPeerException, IOException, InterruptedException {
    Path compiler = build.need(PACKAGES, "g++", "c++");
    Path directory = build.directory(NAME);
    build.compile(
        PACKAGES,
        directory,
        Map.of("gloo_peer.cc", PeerBuild.resource("gloo_peer.cc")),
        List.of(
            compiler.toString(),
            "-std=c++17",
            "-O3",
            "-march=native",
            "-o",
            program(build),
            directory.resolve("gloo_peer.cc").toString(),
            "-lgloo",
            "-lpthread"));
  }

  private static String program(PeerBuild build) throws IOException {
    return build.directory(NAME).resolve("gloo_peer").toString();
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
