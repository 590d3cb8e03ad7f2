package io.collectives.bench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VectorModuleTest {
  private static final String SERVICE = "META-INF/services/io.collectives.internal.MemoryKernels";
  private static final String JAVA = JavaCommand.executable();

  @TempDir private Path directory;
  private String vectors = "";
  private String others = "";

  @BeforeEach
  void makeJars() throws IOException {
    vectors = jar("vectors.jar", SERVICE, "").toString();
    others = jar("others.jar", "Other.class", "").toString();
  }

  private Path jar(String name, String entry, String classPath) throws IOException {
    Path file = directory.resolve(name);
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, classPath);
    try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file), manifest)) {
      jar.putNextEntry(new JarEntry(entry));
      jar.closeEntry();
    }
    return file;
  }

  private static void assertAdded(boolean added, Map<String, String> environment, String... rest) {
    List<String> command = new ArrayList<>(List.of(JAVA));
    command.addAll(List.of(rest));
    List<String> expected = new ArrayList<>(command);
    if (added && Runtime.version().feature() >= 22) {
      expected.addAll(1, List.of("--add-modules", "jdk.incubator.vector"));
    }
    assertEquals(expected, VectorModule.addedTo(command, environment));
  }

  @Test
  void theFlagIsAddedWhereTheArtifactIs() throws IOException {
    String both = others + ":" + vectors;
    assertAdded(true, Map.of(), "-cp", both, "Main", "-x");
    assertAdded(true, Map.of(), "-Xmx1g", "--class-path=" + both, "Main");
    assertAdded(true, Map.of(), "-p", directory.toString(), "-m", "app/Main");
    assertAdded(true, Map.of(), "-cp", directory + "/*", "Main");
    assertAdded(true, Map.of("CLASSPATH", both), "Main");
    Path app = jar("app.jar", "Main.class", "others.jar vectors.jar");
    assertAdded(true, Map.of(), "-jar", app.toString());
    Path classes = Files.createDirectories(directory.resolve("classes"));
    Files.createDirectories(classes.resolve(SERVICE).getParent());
    Files.createFile(classes.resolve(SERVICE));
    assertAdded(true, Map.of(), "-cp", classes.toString(), "Main");
  }

  @Test
  void otherCommandsStayAsTheyAre() {
    assertAdded(false, Map.of(), "-cp", others, "Main");
    assertAdded(false, Map.of(), "-cp", directory.resolve("none.jar").toString(), "Main");
    assertAdded(false, Map.of(), "Main", "-cp", vectors);
    assertAdded(false, Map.of("CLASSPATH", vectors), "-jar", others);
    assertAdded(
        false, Map.of(), "--add-modules", "java.sql,jdk.incubator.vector", "-cp", vectors, "Main");
    List<String> shell = List.of("sh", "-c", "java -cp " + vectors);
    assertEquals(shell, VectorModule.addedTo(shell, Map.of("CLASSPATH", vectors)));
    List<String> none = List.of(directory.resolve("java").toString(), "-cp", vectors, "Main");
    assertEquals(none, VectorModule.addedTo(none, Map.of()), "a java that cannot be run");
  }
}
