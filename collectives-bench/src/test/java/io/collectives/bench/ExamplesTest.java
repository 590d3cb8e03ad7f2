package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The programs of {@code examples} compile without warnings and print what they say. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class ExamplesTest {
  private static final Path SOURCES = Path.of("..", "examples", "src", "main", "java", "examples");
  private static final Pattern PRINTS = Pattern.compile("rank 0 prints \"(.*)\"\\. \\*/");

  @TempDir static Path classes;
  private static URLClassLoader loader;

  static List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(SOURCES)) {
      return files
          .map(file -> file.getFileName().toString().replace(".java", ""))
          .sorted()
          .toList();
    }
  }

  @BeforeAll
  static void compile() throws IOException {
    List<String> arguments = new ArrayList<>(List.of("-Xlint:all", "-Werror", "-proc:none"));
    arguments.addAll(List.of("-d", classes.toString(), "--release", "17"));
    arguments.addAll(List.of("-cp", System.getProperty("java.class.path")));
    for (String name : names()) {
      arguments.add(SOURCES.resolve(name + ".java").toString());
    }
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(null, said, said, arguments.toArray(String[]::new));
    assertEquals(0, status, said::toString);
    loader =
        new URLClassLoader(
            new URL[] {classes.toUri().toURL()}, ExamplesTest.class.getClassLoader());
  }

  @AfterAll
  static void close() throws IOException {
    loader.close();
  }

  @ParameterizedTest
  @MethodSource("names")
  void printsWhatItSays(String name) throws Exception {
    String source = Files.readString(SOURCES.resolve(name + ".java"));
    assertTrue(source.lines().count() <= 60, "it is long");
    assertTrue(source.lines().allMatch(line -> line.length() <= 100), "it has long lines");
    Matcher says = PRINTS.matcher(source);
    assertTrue(says.find(), "it does not say what it prints");
    Method run = loader.loadClass("examples." + name).getDeclaredMethod("run", Communicator.class);
    run.setAccessible(true);
    AtomicReference<String> printed = new AtomicReference<>();
    Collectives.inThreads(
        4,
        world -> {
          try {
            Object text = run.invoke(null, world);
            if (world.rank() == 0) {
              printed.set((String) text);
            }
          } catch (InvocationTargetException | IllegalAccessException e) {
            throw new AssertionError(name + ", rank " + world.rank() + ": " + e.getCause(), e);
          }
        });
    assertEquals(says.group(1), printed.get());
  }
}
