package io.collectives.engine.join;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.RendezvousProvider;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Path;
import java.util.Optional;

/** Meets in a directory that all ranks see, for addresses such as {@code file:///shared/jobs}. */
public final class DirectoryRendezvousProvider implements RendezvousProvider {

  /** Called by {@link java.util.ServiceLoader}. */
  public DirectoryRendezvousProvider() {}

  @Override
  public Optional<Rendezvous> open(JobSettings settings) {
    if (!"file".equalsIgnoreCase(settings.rendezvous().getScheme())) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          new DirectoryRendezvous(Path.of(settings.rendezvous()), settings.calls().silenceLimit()));
    } catch (IllegalArgumentException | FileSystemNotFoundException e) {
      throw new JoinException(
          "rendezvous at "
              + settings.rendezvous()
              + " is not the address of a directory: "
              + e.getMessage()
              + "; needed is file:///directory",
          e);
    }
  }
}
