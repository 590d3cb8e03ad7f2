package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.bench.perf.StartUp;
import io.collectives.bench.process.JavaCommand;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** {@code launch --aot}: jobs of two ranks that take the library from the archive. */
@Tag("process")
@Timeout(240)
class LaunchArchiveTest {
  private static final int RANKS = 2;

  @TempDir static Path jars;

  /** Of jars only, as JVMs archive no classes of directories. */
  private static List<Path> classPath = List.of();

  @TempDir Path directory;

  /** Few classes, which are archived in a moment; {@link StartUp} joins and sums. */
  static final class Program {
    private Program() {}

    public static void main(String[] args) {
      Collectives.settings(System.getenv());
    }
  }

  /** The output of a job, and how it ended. */
  private record Outcome(int status, List<String> out, List<String> err) {
    /** Returns how many ranks took the library from the archive. */
    long fromArchive() {
      return out.stream()
          .filter(line -> line.contains(" io.collectives.Collectives source: shared objects file"))
          .count();
    }
  }

  @BeforeAll
  static void packJars() throws IOException {
    List<Path> packed = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      Path path = Path.of(entry);
      packed.add(Files.isDirectory(path) ? pack(path, jars.resolve(packed.size() + ".jar")) : path);
    }
    classPath = packed;
  }

  private static Path pack(Path classes, Path jar) throws IOException {
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
        Stream<Path> files = Files.walk(classes)) {
      out.setLevel(Deflater.NO_COMPRESSION);
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(
            new JarEntry(classes.relativize(file).toString().replace(File.separatorChar, '/')));
        Files.copy(file, out);
        out.closeEntry();
      }
    }
    return jar;
  }

  private static Outcome launch(Path archive, List<Path> classPath, String... options) {
    return launch(Program.class, archive, classPath, options);
  }

  private static Outcome launch(
      Class<?> program, Path archive, List<Path> classPath, String... options) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("-n", "" + RANKS, "--transport", "shm", "--aot", archive.toString()));
    arguments.addAll(List.of(JavaCommand.executable(), "-Xlog:class+load"));
    arguments.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    arguments.addAll(Arrays.asList(options));
    String paths = String.join(File.pathSeparator, classPath.stream().map(Path::toString).toList());
    arguments.addAll(List.of("-cp", paths, program.getName(), "0"));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    Launch launch = new Launch(new PrintStream(out, true), new PrintStream(err, true));
    int status =
        new CommandLine(launch).setStopAtPositional(true).execute(arguments.toArray(String[]::new));
    List<String> errors = new ArrayList<>(lines(err));
    // The class path has collectives-vector.
    errors.removeIf(
        line -> line.endsWith("WARNING: Using incubator modules: jdk.incubator.vector"));
    return new Outcome(status, lines(out), errors);
  }

  private static List<String> lines(ByteArrayOutputStream bytes) {
    return bytes.toString(StandardCharsets.UTF_8).lines().toList();
  }

  private static void assertRan(long fromArchive, Outcome job) {
    assertEquals(List.of(), job.err());
    assertEquals(0, job.status());
    assertFalse(job.out().stream().anyMatch(line -> line.contains("[warning]")));
    assertEquals(fromArchive, job.fromArchive());
  }

  /** A class that has been compiled anew is run, and not what was archived of it. */
  @Test
  void aJobUsesWhatTheOneBeforeHasMadeUnlessAJarHasChanged() throws IOException {
    Path archive = directory.resolve("classes.jsa");
    Path jar = directory.resolve("first.jar");
    pack(Files.createDirectory(directory.resolve("nothing")), jar);
    List<Path> longer = new ArrayList<>(classPath);
    longer.add(0, jar);
    assertRan(0, launch(archive, longer));
    FileTime made = Files.getLastModifiedTime(archive);
    assertRan(RANKS, launch(archive, longer));
    assertEquals(made, Files.getLastModifiedTime(archive));
    Files.setLastModifiedTime(jar, FileTime.fromMillis(1_000_000_000_000L));
    assertRan(0, launch(archive, longer));
    assertTrue(made.compareTo(Files.getLastModifiedTime(archive)) < 0);
  }

  @Test
  @Tag("long")
  void aFileThatIsNoArchiveIsReplaced() throws IOException {
    Path archive = Files.writeString(directory.resolve("classes.jsa"), "nonsense");
    assertRan(0, launch(StartUp.class, archive, classPath));
    assertRan(RANKS, launch(StartUp.class, archive, classPath));
  }

  @Test
  void whereNothingCanBeWrittenAWarningSaysSo() throws IOException {
    Path file = Files.createFile(directory.resolve("file"));
    Outcome job = launch(file.resolve("classes.jsa"), classPath);
    assertEquals(0, job.status());
    assertEquals(1, job.err().size(), job.err()::toString);
    assertTrue(
        job.err().get(0).startsWith("collectives launch: no archive of classes at " + file),
        job.err()::toString);
  }

  @Test
  @Tag("long")
  void classesThatCannotBeArchivedAreRunWithAWarning() throws IOException {
    List<Path> longer = new ArrayList<>(classPath);
    longer.add(0, directory);
    Files.createFile(directory.resolve("file"));
    Path archive = directory.resolve("classes.jsa");
    Outcome job = launch(archive, longer);
    assertEquals(0, job.status());
    assertEquals(
        List.of(
            "collectives launch: no archive of classes at "
                + archive
                + ": Cannot have non-empty directory in paths"),
        job.err());
    assertFalse(Files.exists(archive));
  }

  @Test
  void ofAJobThatFailsNoneIsMade() {
    Path archive = directory.resolve("classes.jsa");
    Outcome job = launch(archive, classPath, "NoSuchMain");
    assertEquals(1, job.status());
    assertFalse(Files.exists(archive));
  }
}
