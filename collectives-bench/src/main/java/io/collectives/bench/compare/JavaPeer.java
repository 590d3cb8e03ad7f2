package io.collectives.bench.compare;

import io.collectives.Collective;
import io.collectives.bench.process.JavaCommand;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A peer that is a Java library, of which all-reduces are measured: resolved by Maven when it is
 * wanted, and run in JVMs that hold nothing of this project.
 */
abstract class JavaPeer implements PeerKit {
  private static final String MVN = "mvn";
  private static final List<String> PACKAGES = List.of("maven");
  private static final String ONLY = "default";

  private final String name;
  private final String program;
  private final List<String> libraries;

  /**
   * A peer.
   *
   * @param program its main class, in the package without a name
   * @param libraries group, artifact and version of each, with colons between
   */
  private JavaPeer(String name, String program, String... libraries) {
    this.name = name;
    this.program = program;
    this.libraries = List.of(libraries);
  }

  static JavaPeer pytorchGloo() {
    return new PytorchGloo();
  }

  static JavaPeer rabit() {
    return new Rabit();
  }

  static JavaPeer spark() {
    return new Spark();
  }

  @Override
  public boolean compilesAhead() {
    return false;
  }

  @Override
  public List<String> variants(Collective collective, Medium medium) {
    return collective == Collective.ALL_REDUCE && medium == Medium.TCP ? List.of(ONLY) : List.of();
  }

  @Override
  public final void prepare(PeerBuild build)
      throws MissingPeerException, IOException, InterruptedException {
    Path maven = build.need(PACKAGES, MVN);
    Path directory = build.directory(name);
    List<List<String>> commands = new ArrayList<>();
    commands.add(
        Stream.of(
                List.of(
                    maven.toString(),
                    "-q",
                    "-B",
                    "-ntp",
                    "-f",
                    directory.resolve("pom.xml").toString()),
                mavenOptions(),
                List.of("dependency:copy-dependencies", "compiler:compile"))
            .flatMap(List::stream)
            .toList());
    if (unpacks()) {
      commands.add(start(build, List.of(), List.of(), directory, Map.of()).command());
    }
    String sources = "src/main/java/";
    try {
      build.compile(
          directory,
          Map.of(
              "pom.xml",
              PeerBuild.resource("pom.xml").replace("<!-- dependencies -->", dependencies()),
              sources + "AllReducePeer.java",
              PeerBuild.resource("AllReducePeer.java"),
              sources + program + ".java",
              PeerBuild.resource(program + ".java"),
              "target/classes/log4j2.properties",
              PeerBuild.resource("log4j2.properties")),
          commands,
          Map.of("JAVA_HOME", System.getProperty("java.home")));
    } catch (IOException e) {
      throw new MissingPeerException(
          e.getMessage()
              + "; Maven has to reach a repository that has "
              + String.join(" and ", libraries));
    }
  }

  private String dependencies() {
    StringBuilder all = new StringBuilder();
    for (String library : libraries) {
      String[] parts = library.split(":");
      all.append("<dependency><groupId>")
          .append(parts[0])
          .append("</groupId><artifactId>")
          .append(parts[1])
          .append("</artifactId><version>")
          .append(parts[2])
          .append("</version></dependency>");
    }
    return all.toString();
  }

  /**
   * Returns whether the program unpacks native code where later runs find it, which several must
   * not do at once; without arguments it does nothing else.
   */
  boolean unpacks() {
    return false;
  }

  /** Options of Maven. */
  List<String> mavenOptions() {
    return List.of();
  }

  @Override
  public List<Start> starts(PeerBuild build, PeerJob job, Path scratch) throws IOException {
    return Collections.nCopies(
        job.ranks(), start(build, List.of(), List.of(scratch.toString()), scratch, Map.of()));
  }

  /** The program in a JVM whose temporary files are in {@code scratch}. */
  final Start start(
      PeerBuild build,
      List<String> options,
      List<String> arguments,
      Path scratch,
      Map<String, String> environment)
      throws IOException {
    Path directory = build.directory(name);
    List<String> command = new ArrayList<>();
    command.add(JavaCommand.executable());
    command.add("-Djava.io.tmpdir=" + scratch);
    command.add("-XX:ErrorFile=" + scratch.resolve("crash.log"));
    command.add("-XX:+DisplayVMOutputToStderr");
    command.add("-Dorg.bytedeco.javacpp.cachedir=" + directory.resolve("cache"));
    if (Runtime.version().feature() >= 24) {
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    command.addAll(options);
    command.addAll(List.of("-cp", classes(build) + File.pathSeparator + jars(build) + "/*"));
    command.add(program);
    command.addAll(arguments);
    return new Start(command, environment);
  }

  final Path classes(PeerBuild build) throws IOException {
    return build.directory(name).resolve("target").resolve("classes");
  }

  final Path jars(PeerBuild build) throws IOException {
    return build.directory(name).resolve("jars");
  }

  private static final class PytorchGloo extends JavaPeer {
    PytorchGloo() {
      super("pytorch-gloo", "PytorchGlooPeer", "org.bytedeco:pytorch-platform:2.10.0-1.5.13");
    }

    /** The native code of one platform only: that of all is some gigabytes. */
    @Override
    List<String> mavenOptions() {
      String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
      String arch = System.getProperty("os.arch");
      return List.of(
          "-Djavacpp.platform="
              + (system.startsWith("mac")
                  ? "macosx"
                  : system.startsWith("win") ? "windows" : "linux")
              + (arch.equals("aarch64") ? "-arm64" : "-x86_64"));
    }

    @Override
    boolean unpacks() {
      return true;
    }
  }

  private static final class Rabit extends JavaPeer {
    Rabit() {
      // Which needs Jackson without saying so.
      super(
          "rabit",
          "RabitPeer",
          "ml.dmlc:xgboost4j_2.12:3.0.4",
          "com.fasterxml.jackson.core:jackson-databind:2.15.2");
    }
  }

  /** Spark in one JVM with threads, or in one JVM for each rank. */
  private static final class Spark extends JavaPeer {
    private static final String SCALA = "2.13";

    /** The packages of the JDK that Spark opens. */
    private static final List<String> OPENED =
        List.of(
            "java.lang",
            "java.lang.invoke",
            "java.lang.reflect",
            "java.io",
            "java.net",
            "java.nio",
            "java.util",
            "java.util.concurrent",
            "java.util.concurrent.atomic",
            "sun.nio.ch",
            "sun.nio.cs",
            "sun.security.action",
            "sun.util.calendar");

    Spark() {
      super("spark", "SparkPeer", "org.apache.spark:spark-core_" + SCALA + ":4.0.1");
    }

    @Override
    public List<String> variants(Collective collective, Medium medium) {
      return collective == Collective.ALL_REDUCE
          ? List.of(medium == Medium.TCP ? "local-cluster" : "local")
          : List.of();
    }

    @Override
    public List<Start> starts(PeerBuild build, PeerJob job, Path scratch) throws IOException {
      String master =
          job.medium() == Medium.TCP
              ? "local-cluster[" + job.ranks() + ",1,1024]"
              : "local[" + job.ranks() + "]";
      // A cluster wants to be installed, and writes where it is.
      Path home = Files.createDirectory(scratch.resolve("home"));
      Files.createSymbolicLink(home.resolve("jars"), jars(build));
      Files.createFile(home.resolve("RELEASE"));
      Map<String, String> environment = new HashMap<>();
      environment.put("SPARK_HOME", home.toString());
      environment.put("SPARK_SCALA_VERSION", SCALA);
      environment.put("SPARK_LOCAL_IP", "127.0.0.1");
      environment.put("SPARK_LOCAL_DIRS", scratch.toString());
      environment.put("JAVA_HOME", System.getProperty("java.home"));
      return List.of(
          start(
              build,
              OPENED.stream()
                  .map(name -> "--add-opens=java.base/" + name + "=ALL-UNNAMED")
                  .toList(),
              List.of(master, classes(build).toString()),
              scratch,
              environment));
    }
  }
}
