package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Provides;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A program that is a module: all that users of collectives-all receive lies in one directory,
 * which is the module path.
 */
@Timeout(150)
final class ModulePathTest {
  private static final String CLIENT =
      """
      package client;

      import io.collectives.*;
      import io.collectives.training.optimizer.Optimizer;
      import java.net.URI;
      import java.util.List;

      public class Main {
        public static void main(String[] args) {
          int rank = Integer.parseInt(args[0]);
          for (String transport : List.of("tcp", "shm", "unix", "auto")) {
            URI rendezvous = URI.create(args[1] + transport);
            JobSettings job = JobSettings.of(rank, 2, rendezvous).withTransport(transport);
            for (Algorithm algorithm : List.of(Algorithm.ring(), Algorithm.parameterServer(1))) {
              try (Communicator world =
                  Collectives.join(job.withCalls(job.calls().withAlgorithm(algorithm)))) {
                float[] sum = {rank + 1, 10};
                world.allReduce(sum, ReduceOp.SUM);
                System.out.println(transport + ": " + sum[0] + " " + sum[1]);
              }
            }
          }
          System.out.println(Optimizer.class.getModule().getName());
        }
      }
      """;

  /** The libraries that only the tests have. */
  private static final List<String> TESTING =
      List.of(
          "test-classes",
          "collectives-testkit",
          "io.collectives.testkit",
          "junit",
          "opentest4j",
          "apiguardian",
          "awaitility",
          "hamcrest",
          "archunit",
          "slf4j-simple");

  @TempDir private Path directory;
  private Path modulePath;
  private final List<Process> processes = new ArrayList<>();

  /** Finds what a dependency on collectives-all brings at run time. */
  @BeforeEach
  void gather() throws IOException {
    modulePath = Files.createDirectory(directory.resolve("lib"));
    for (String entry :
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
            .split(File.pathSeparator)) {
      Path path = Path.of(entry).toAbsolutePath();
      // javac finds the classes of a module in a directory that has its name.
      String name =
          path.endsWith("target/classes")
              ? "io." + path.getParent().getParent().getFileName().toString().replace('-', '.')
              : path.getFileName().toString();
      if (Files.exists(path) && TESTING.stream().noneMatch(name::startsWith)) {
        copy(path, modulePath.resolve(name));
      }
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
  }

  @AfterEach
  void stopAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void aModularProgramRunsByEveryTransport() throws Exception {
    String said = compile("io.collectives.all", CLIENT);
    assertEquals("", said);
    URI rendezvous = Files.createDirectory(directory.resolve("rendezvous")).toUri();
    for (String transport : List.of("tcp", "shm", "unix", "auto")) {
      Files.createDirectory(directory.resolve("rendezvous").resolve(transport));
    }
    for (int rank = 0; rank < 2; rank++) {
      processes.add(
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Xmx256m",
                  "-XX:TieredStopAtLevel=1",
                  "-p",
                  modulePath + File.pathSeparator + directory.resolve("client"),
                  "-m",
                  "client/client.Main",
                  "" + rank,
                  rendezvous.toString())
              .redirectOutput(directory.resolve("output-" + rank).toFile())
              .redirectError(directory.resolve("errors-" + rank).toFile())
              .start());
    }
    List<String> expected =
        Stream.concat(
                Stream.of("tcp", "shm", "unix", "auto")
                    .map(transport -> transport + ": 3.0 20.0")
                    .flatMap(line -> Stream.of(line, line)),
                Stream.of("io.collectives.training"))
            .toList();
    for (int rank = 0; rank < 2; rank++) {
      assertTrue(processes.get(rank).waitFor(50, TimeUnit.SECONDS), "a rank hangs");
      assertEquals(
          expected,
          Files.readAllLines(directory.resolve("output-" + rank)),
          Files.readString(directory.resolve("errors-" + rank)));
    }
  }

  @Test
  void whatIsNotExportedIsNotSeen() throws Exception {
    String said =
        compile(
            "io.collectives.engine",
            """
            package client;

            public class Main extends io.collectives.engine.run.Engine {}
            """);
    assertTrue(said.contains("does not export it"), said);
  }

  /** On the class path a service is found by a file, on the module path by the descriptor. */
  @Test
  void bothPathsFindTheSameServices() throws Exception {
    TreeMap<String, Set<String>> byDescriptor = new TreeMap<>();
    Configuration all =
        Configuration.resolveAndBind(
            ModuleFinder.of(modulePath),
            List.of(ModuleLayer.boot().configuration()),
            ModuleFinder.of(),
            Set.of("io.collectives.all"));
    Set<String> packages = new HashSet<>();
    for (var module : all.modules()) {
      ModuleReference reference = module.reference();
      ModuleDescriptor descriptor = reference.descriptor();
      if (descriptor.name().startsWith("io.collectives.")) {
        for (Provides provides : descriptor.provides()) {
          byDescriptor
              .computeIfAbsent(provides.service(), service -> new TreeSet<>())
              .addAll(provides.providers());
        }
        descriptor.packages().forEach(name -> assertTrue(packages.add(name), name));
      }
    }
    assertNotEquals(0, byDescriptor.size());
    TreeMap<String, Set<String>> byFile = new TreeMap<>();
    for (String service : byDescriptor.keySet()) {
      Set<String> providers = byFile.computeIfAbsent(service, name -> new TreeSet<>());
      for (URL file :
          Collections.list(
              getClass().getClassLoader().getResources("META-INF/services/" + service))) {
        try (var in = file.openStream()) {
          new String(in.readAllBytes()).lines().forEach(providers::add);
        }
      }
    }
    assertEquals(byFile, byDescriptor);
  }

  /** Compiles a module of one class that requires one other, and returns what javac has said. */
  private String compile(String required, String source) throws IOException {
    Path sources = Files.createDirectories(directory.resolve("src"));
    Path module =
        Files.writeString(
            sources.resolve("module-info.java"), "module client { requires " + required + "; }");
    Path main = Files.createDirectories(sources.resolve("client")).resolve("Main.java");
    Files.writeString(main, source);
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    ToolProvider.getSystemJavaCompiler()
        .run(
            null,
            said,
            said,
            "-Xlint:all",
            "-proc:none",
            "-cp",
            sources.toString(),
            "-p",
            modulePath.toString(),
            "-d",
            directory.resolve("client").toString(),
            module.toString(),
            main.toString());
    return said.toString();
  }
}
