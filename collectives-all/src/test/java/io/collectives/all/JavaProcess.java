package io.collectives.all;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts JVMs like that of the test. */
final class JavaProcess {
  private JavaProcess() {}

  /**
   * A JVM that runs a main class of the tests and writes all that it says to a file.
   *
   * @param main the class with the main method
   */
  static ProcessBuilder of(Path output, Class<?> main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx256m");
    command.add("-XX:TieredStopAtLevel=1"); // It does not live long enough for more,
    command.add("-XX:+UseSerialGC"); // nor for a collector with threads of its own.
    command.add("-XX:-UsePerfData"); // Of which a JVM complains in its output at times.
    // Netty loads its native library; newer JVMs would say so.
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-cp");
    command.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
  }
}
