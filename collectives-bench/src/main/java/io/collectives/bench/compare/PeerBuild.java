package io.collectives.bench.compare;

import io.collectives.bench.process.ProcessGroup;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The place where peers are built: a directory, and the programs of a search path. One thread uses
 * it.
 */
public final class PeerBuild {
  private static final Duration BUILD_LIMIT = Duration.ofMinutes(20);
  private static final Pattern ERROR =
      Pattern.compile("(?i).*(error|exception|cannot|could not|no such).*");

  private final Path directory;
  private final String searchPath;
  private final boolean install;
  private final Consumer<String> progress;

  /**
   * A build.
   *
   * @param directory is made when something is built and stays, so that it is built once only
   * @param searchPath the directories of programs, as in the variable {@code PATH}
   * @param install whether packages of the system may be installed
   * @param progress is told what takes long
   */
  public PeerBuild(Path directory, String searchPath, boolean install, Consumer<String> progress) {
    this.directory = directory.toAbsolutePath();
    this.searchPath = searchPath;
    this.install = install;
    this.progress = progress;
  }

  /** The directory of a peer. */
  Path directory(String peer) throws IOException {
    return Files.createDirectories(directory.resolve(peer));
  }

  /** The first of several programs that is on the search path. */
  Optional<Path> find(String... names) {
    return Arrays.stream(names)
        .flatMap(
            name ->
                Arrays.stream(searchPath.split(File.pathSeparator))
                    .filter(entry -> !entry.isEmpty())
                    .map(entry -> Path.of(entry, name)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * The first of several programs that is on the search path, for which packages are installed if
   * that is allowed.
   *
   * @throws MissingPeerException if there is none; it says what to install
   */
  Path need(List<String> packages, String... names)
      throws MissingPeerException, IOException, InterruptedException {
    if (find(names).isEmpty() && install) {
      install(packages);
    }
    return find(names)
        .orElseThrow(() -> missing("no " + names[names.length - 1] + " on the PATH", packages));
  }

  /** Tells what is missing, and how it is installed. */
  MissingPeerException missing(String what, List<String> packages) {
    return new MissingPeerException(
        what
            + "; as root, apt-get install "
            + String.join(" ", packages)
            + (install ? "" : " (or add --install)"));
  }

  /** Installs packages of Debian and what is derived from it. */
  void install(List<String> packages)
      throws MissingPeerException, IOException, InterruptedException {
    Path aptGet =
        find("apt-get").orElseThrow(() -> missing("--install: no apt-get on the PATH", packages));
    progress.accept("installing " + String.join(" ", packages));
    List<String> quietly = List.of(aptGet.toString(), "-q", "-y", "--no-install-recommends");
    Path log = directory("install").resolve("apt-get.log");
    try {
      run(List.of(aptGet.toString(), "-q", "update"), Map.of(), log);
      run(
          Stream.of(quietly, List.of("install"), packages).flatMap(List::stream).toList(),
          Map.of("DEBIAN_FRONTEND", "noninteractive"),
          log);
    } catch (IOException e) {
      throw missing("--install: " + e.getMessage(), packages);
    }
  }

  /**
   * Builds with a compiler that may be there without the headers and libraries that it needs: then
   * packages are installed if that is allowed, and it is tried again.
   *
   * @throws MissingPeerException if it fails; it says what to install
   */
  void compile(
      List<String> packages, Path directory, Map<String, String> sources, List<String> command)
      throws MissingPeerException, IOException, InterruptedException {
    List<List<String>> commands = List.of(command);
    try {
      compile(directory, sources, commands, Map.of());
    } catch (IOException e) {
      if (!install) {
        throw missing(String.valueOf(e.getMessage()), packages);
      }
      install(packages);
      compile(directory, sources, commands, Map.of());
    }
  }

  /**
   * Writes sources into a directory and builds them, unless the same have been built there already.
   *
   * @param sources texts by where they go, relative to the directory
   * @param commands run one after the other
   * @param environment variables besides those of this program
   * @throws IOException if a command fails; the message has what it said
   */
  void compile(
      Path directory,
      Map<String, String> sources,
      List<List<String>> commands,
      Map<String, String> environment)
      throws IOException, InterruptedException {
    StringBuilder wanted = new StringBuilder(commands.toString());
    for (Map.Entry<String, String> source : new TreeMap<>(sources).entrySet()) {
      wanted.append('\n').append(source.getValue());
      Path file = directory.resolve(source.getKey());
      Files.createDirectories(file.resolveSibling(""));
      Files.writeString(file, source.getValue());
    }
    Path stamp = directory.resolve("built");
    if (Files.exists(stamp) && Files.readString(stamp).contentEquals(wanted)) {
      return;
    }
    Files.deleteIfExists(stamp);
    progress.accept("building " + directory.getFileName());
    for (List<String> command : commands) {
      run(command, environment, directory.resolve("build.log"));
    }
    Files.writeString(stamp, wanted);
  }

  /**
   * Runs a command to its end, or ends it after the limit.
   *
   * @param log gets what the command says
   * @throws IOException if it does not end well; the message has what it said
   */
  void run(List<String> command, Map<String, String> environment, Path log)
      throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("PATH", searchPath);
    builder.environment().putAll(environment);
    try (ProcessGroup group = new ProcessGroup()) {
      Process process = group.start(0, builder);
      process.getOutputStream().close();
      if (!process.waitFor(BUILD_LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        throw new IOException(
            command.get(0) + " took more than " + BUILD_LIMIT.toMinutes() + " min");
      }
      if (process.exitValue() != 0) {
        throw new IOException(
            Path.of(command.get(0)).getFileName()
                + " failed: "
                + reason(new String(Files.readAllBytes(log), StandardCharsets.UTF_8))
                + " ("
                + log
                + ")");
      }
    }
  }

  /** The first line of what a process said that reads like an error, or else the last one. */
  static String reason(String said) {
    List<String> lines = said.lines().filter(line -> !line.isBlank()).toList();
    return lines.stream()
        .filter(line -> ERROR.matcher(line).matches())
        .findFirst()
        .orElse(lines.isEmpty() ? "it said nothing" : lines.get(lines.size() - 1))
        .strip();
  }

  /** A source that is a resource of this program. */
  static String resource(String name) throws IOException {
    try (InputStream in = PeerBuild.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException("this program lacks its resource " + name);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
