package io.collectives.bench.process;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The incubator module of the Vector API, which a JVM has only if it is started with a flag. A
 * program that has {@code collectives-vector} on its class or module path wants it, from JDK 22 on:
 * before, loops over vectors are seldom faster than what they replace, and an empty program takes
 * twice as long with the flag.
 */
public final class VectorModule {
  private static final String NAME = "jdk.incubator.vector";
  private static final int FIRST_JDK = 22;
  private static final Pattern VERSION = Pattern.compile("(?m)^\\S+ (\\d+)");
  private static final String SERVICE = "META-INF/services/io.collectives.internal.MemoryKernels";
  private static final Set<String> PATH_OPTIONS =
      Set.of("-cp", "-classpath", "--class-path", "-p", "--module-path");

  private VectorModule() {}

  /**
   * Returns a command with the flag, if it is a {@code java} that wants the module, gains by it,
   * and was not told so.
   *
   * @param environment of the command, in which {@code CLASSPATH} may stand
   */
  public static List<String> addedTo(List<String> command, Map<String, String> environment) {
    if (!ClassArchive.isJava(command)
        || command.stream().anyMatch(argument -> argument.contains(NAME))
        || path(command, environment).stream().noneMatch(VectorModule::brings)
        || !gains(command.get(0))) {
      return command;
    }
    List<String> all = new ArrayList<>(command);
    all.addAll(1, List.of("--add-modules", NAME));
    return all;
  }

  private static boolean gains(String java) {
    try {
      Matcher version = VERSION.matcher(Command.run(java, "--add-modules", NAME, "--version"));
      return version.find() && Integer.parseInt(version.group(1)) >= FIRST_JDK;
    } catch (IOException e) {
      return false; // This java has no such module, or is none; the job will tell.
    }
  }

  /** Returns the jars and directories that a java takes classes from. */
  private static List<Path> path(List<String> command, Map<String, String> environment) {
    String given = environment.getOrDefault("CLASSPATH", "");
    List<Path> path = new ArrayList<>();
    for (int i = 1; i < command.size() && command.get(i).startsWith("-"); i++) {
      String option = command.get(i);
      String next = i + 1 < command.size() ? command.get(i + 1) : "";
      int equals = option.indexOf('=');
      if (option.equals("-jar")) {
        path.add(Path.of(next));
        path.addAll(namedIn(Path.of(next)));
        return path; // No other path counts then.
      } else if (PATH_OPTIONS.contains(option)) {
        given = given + File.pathSeparator + next;
        i++;
      } else if (equals > 0 && PATH_OPTIONS.contains(option.substring(0, equals))) {
        given = given + File.pathSeparator + option.substring(equals + 1);
      }
    }
    for (String entry : given.split(File.pathSeparator)) {
      if (entry.endsWith("*")) {
        path.addAll(jarsIn(entry.substring(0, entry.length() - 1)));
      } else if (!entry.isEmpty()) {
        Path file = Path.of(entry);
        path.add(file);
        path.addAll(Files.isDirectory(file) ? jarsIn(entry) : namedIn(file));
      }
    }
    return path;
  }

  private static List<Path> jarsIn(String directory) {
    List<Path> jars = new ArrayList<>();
    try (DirectoryStream<Path> found = Files.newDirectoryStream(Path.of(directory), "*.jar")) {
      found.forEach(jars::add);
    } catch (IOException e) {
      return List.of(); // The java will say what is wrong with it.
    }
    return jars;
  }

  /** Returns the jars that the manifest of a jar names. */
  private static List<Path> namedIn(Path jar) {
    try (JarFile file = new JarFile(jar.toFile())) {
      Manifest manifest = file.getManifest();
      String named =
          manifest == null
              ? null
              : manifest.getMainAttributes().getValue(Attributes.Name.CLASS_PATH);
      List<Path> jars = new ArrayList<>();
      for (String name : named == null ? new String[0] : named.trim().split(" +")) {
        jars.add(jar.toAbsolutePath().resolveSibling(name));
      }
      return jars;
    } catch (IOException e) {
      return List.of();
    }
  }

  private static boolean brings(Path entry) {
    if (Files.isDirectory(entry)) {
      return Files.exists(entry.resolve(SERVICE));
    }
    try (JarFile jar = new JarFile(entry.toFile())) {
      return jar.getEntry(SERVICE) != null;
    } catch (IOException e) {
      return false;
    }
  }
}
