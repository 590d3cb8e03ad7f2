package io.collectives.bench.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * An archive of the classes that the processes of a job load (class data sharing of the JVM), from
 * which those of the next jobs take them as they are: parsed, verified and linked. If there is none
 * that fits, one process of a job lists the classes that it loads, and {@link #make} makes an
 * archive of them when the job has ended. The process itself does not, because a JVM that fails at
 * that ends with an error.
 *
 * <p>Whether an archive fits is for the JVM to say, which compares its own version, the class path,
 * and the time and length of the jars. An AOT cache of JDK 25 would be faster still; but JDK 25.0.3
 * does not compare the jars when it uses one, and so would run what a jar held before it was built
 * anew.
 *
 * <p>Jobs that make archives at once write files of their own, which take the place of what is
 * there in one step; JVMs that use the old one keep it.
 */
public final class ClassArchive {
  /** By the launcher's own test the JVM starts and finds the main class, but does not run it. */
  private static final String DRY_RUN = "--dry-run";

  /** The JVM says nothing of archives; options of users come later and count. */
  private static final String QUIET = "-Xlog:cds*=off";

  private final Path file;
  private final List<String> command;
  private final Consumer<String> warnings;
  private boolean fits;

  /** The directory of the files of an archive in the making; empty if none is made. */
  private final Optional<Path> making;

  /**
   * Looks whether an archive fits a command.
   *
   * @param command a {@code java} and its arguments
   * @param warnings gets a line if there will be no archive, on which nothing else depends
   */
  public ClassArchive(Path file, List<String> command, Consumer<String> warnings) {
    this.file = file.toAbsolutePath();
    this.command = command;
    this.warnings = warnings;
    this.fits = Files.exists(this.file) && isUsable();
    this.making = fits ? Optional.empty() : directory();
  }

  /** Returns whether a command begins with a {@code java}, which options can follow. */
  public static boolean isJava(List<String> command) {
    Path program = Path.of(command.get(0)).getFileName();
    return program != null && program.toString().matches("java(\\.exe)?");
  }

  /** Returns whether the archive that is there fits. */
  public boolean fits() {
    return fits;
  }

  /** Returns the command of a process that uses the archive if it fits. */
  public List<String> command() {
    return fits ? with(QUIET, "-XX:SharedArchiveFile=" + file) : command;
  }

  /** Returns the command of the one process that lists its classes if the archive does not fit. */
  public List<String> listingCommand() {
    return making
        .map(directory -> with("-XX:DumpLoadedClassList=" + list(directory)))
        .orElseGet(this::command);
  }

  /**
   * Makes an archive if there is none that fits, once the process that lists has ended. It is used
   * by processes that start afterwards.
   */
  public void make() {
    making.ifPresent(
        directory -> {
          Path made = archive(directory);
          try {
            Command.run(
                with(
                    DRY_RUN,
                    "-Xshare:dump",
                    "-XX:SharedClassListFile=" + list(directory),
                    "-XX:SharedArchiveFile=" + made));
            Files.move(made, file, StandardCopyOption.ATOMIC_MOVE);
            fits = true;
          } catch (NoSuchFileException e) {
            warn("this JVM made none");
          } catch (IOException e) {
            warn(e.toString());
          }
        });
  }

  private boolean isUsable() {
    try {
      Command.run(with(DRY_RUN, "-Xshare:on", "-XX:SharedArchiveFile=" + file));
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** A new directory beside the file, which ends with this JVM. */
  private Optional<Path> directory() {
    try {
      Path directory = Files.createTempDirectory(file.getParent(), file.getFileName() + ".");
      // They are deleted in the opposite order.
      directory.toFile().deleteOnExit();
      list(directory).toFile().deleteOnExit();
      archive(directory).toFile().deleteOnExit();
      return Optional.of(directory);
    } catch (IOException e) {
      warn(e.toString());
      return Optional.empty();
    }
  }

  private static Path list(Path directory) {
    return directory.resolve("classes");
  }

  private static Path archive(Path directory) {
    return directory.resolve("archive");
  }

  private List<String> with(String... options) {
    List<String> all = new ArrayList<>(command);
    all.addAll(1, List.of(options));
    return all;
  }

  /** Passes on the last line of a reason; the JVM says first what it tried. */
  private void warn(String reason) {
    String[] lines = reason.strip().split("\n");
    warnings.accept("no archive of classes at " + file + ": " + lines[lines.length - 1]);
  }
}
