package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.testkit.RankThreads;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;

/**
 * Starts JVMs like that of the test. They find the classes that most of them load in an archive,
 * which saves half the time that it takes to start a rank.
 */
final class JavaProcess {
  private JavaProcess() {}

  /** Loads what ranks load, in jobs that take a directory. */
  public static void main(String[] arguments) throws Exception {
    for (String transport : List.of("mixed", "tcp")) {
      List<Communicator> worlds =
          ThreadJobs.open(transport, 3, Path.of(arguments[0]), CallSettings.defaults());
      RankThreads.run(worlds, world -> world.allReduce(new float[10_000], ReduceOp.SUM));
      worlds.forEach(Communicator::close);
    }
  }

  /**
   * A JVM that runs a main class of the tests and writes all that it says to a file.
   *
   * @param main the class with the main method
   */
  static ProcessBuilder of(Path output, Class<?> main, String... arguments) {
    return java(output, "-XX:SharedArchiveFile=" + Archive.FILE, main, arguments);
  }

  /** Returns where the threads of a JVM stand, or why that cannot be told. */
  static String threads(Process process) throws IOException {
    String tool = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    Process print =
        new ProcessBuilder(tool, "" + process.pid(), "Thread.print")
            .redirectErrorStream(true)
            .start();
    return new String(print.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  private static ProcessBuilder java(
      Path output, String archive, Class<?> main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx256m");
    command.add("-XX:TieredStopAtLevel=1"); // It does not live long enough for more,
    command.add("-XX:+UseSerialGC"); // nor for a collector with threads of its own.
    command.add("-XX:-UsePerfData"); // Of which a JVM complains in its output at times.
    command.add(archive);
    command.add("-Xlog:disable"); // An archive that does not fit is not used.
    // Netty loads its native library; newer JVMs would say so.
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-cp");
    command.add(Archive.CLASS_PATH);
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
  }

  /** An archive of classes, and the class path that it is for: it may hold no directories. */
  static final class Archive {
    static final String CLASS_PATH;
    static final Path FILE;

    static {
      try {
        Path directory = Files.createTempDirectory("collectives-classes-");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(directory)));
        CLASS_PATH = jars(directory);
        FILE = directory.resolve("classes.jsa");
        Path output = directory.resolve("output.txt");
        ProcessBuilder dump =
            java(output, "-XX:ArchiveClassesAtExit=" + FILE, JavaProcess.class, "" + directory);
        int status = dump.start().waitFor();
        assertEquals(0, status, Files.readString(output));
      } catch (IOException | InterruptedException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private Archive() {}

    private static String jars(Path directory) throws IOException {
      List<String> path = new ArrayList<>();
      String all =
          System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
      for (String entry : all.split(File.pathSeparator)) {
        path.add(Files.isDirectory(Path.of(entry)) ? jar(directory, Path.of(entry)) : entry);
      }
      return String.join(File.pathSeparator, path);
    }

    private static String jar(Path directory, Path classes) throws IOException {
      Path jar = Files.createTempFile(directory, "classes", ".jar");
      try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
          Stream<Path> files = Files.walk(classes)) {
        out.setLevel(Deflater.NO_COMPRESSION);
        for (Path file : files.filter(Files::isRegularFile).toList()) {
          out.putNextEntry(new ZipEntry(classes.relativize(file).toString()));
          Files.copy(file, out);
        }
      }
      return jar.toString();
    }

    private static void delete(Path directory) {
      try (Stream<Path> files = Files.walk(directory)) {
        files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      } catch (IOException e) {
        System.err.println(directory + " is left: " + e);
      }
    }
  }
}
