package io.collectives.bench.process;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command that runs this program once more: the same JVM, class path and options. */
public final class JavaCommand {
  /** By name, so that commands which start others need not know all of them. */
  private static final String PROGRAM = "io.collectives.bench.Main";

  private JavaCommand() {}

  /** The command line of a command of this program. */
  public static List<String> of(List<String> options, List<String> arguments) {
    return of(PROGRAM, options, arguments);
  }

  /**
   * The command line. Options that were given to this JVM are passed on, except those that set heap
   * sizes or would fight over a port or a file.
   *
   * @param options options for the JVM, after those passed on
   * @param arguments arguments of the main class
   */
  public static List<String> of(Class<?> mainClass, List<String> options, List<String> arguments) {
    return of(mainClass.getName(), options, arguments);
  }

  private static List<String> of(String mainClass, List<String> options, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(executable());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(
            option ->
                !option.matches("-(Xm[sxn]|javaagent|agentlib|agentpath|Xrunjdwp|XX:Start).*"))
        .forEach(command::add);
    if (Runtime.version().feature() >= 24) {
      command.add("--enable-native-access=ALL-UNNAMED"); // the manifest says so to java -jar only
    }
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), mainClass));
    command.addAll(arguments);
    return command;
  }

  /** The {@code java} of this JVM. */
  public static String executable() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }
}
