package io.collectives.bench;

import io.collectives.bench.process.ClassArchive;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.LinePump;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.RankEnvironment;
import io.collectives.bench.process.VectorModule;
import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Columns.Column;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code collectives launch}: a job of processes on this host. */
@Command(
    name = "launch",
    customSynopsis =
        "collectives launch [-h] [--aot=FILE] [--keep-going] [--transport=NAME] [--servers=S [--proxies=P]] -n=RANKS [--] COMMAND [ARGUMENT...]",
    descriptionHeading = "%n",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Start a job of several processes on this host.",
      "",
      "Each process runs COMMAND with its rank in the environment: RANK and LOCAL_RANK (0 to "
          + "RANKS-1), WORLD_SIZE, MASTER_ADDR (127.0.0.1) and MASTER_PORT (a free port). "
          + "Collectives.join() reads these, and so do other frameworks. Their standard input is "
          + "empty. Every line that they write appears here with its rank before it, as '[2] "
          + "...', standard output and standard error apart. A java 22 or newer with "
          + "collectives-vector on its class or module path also gets --add-modules "
          + "jdk.incubator.vector.",
      "",
      "OMP_NUM_THREADS is the number of processors that each process has for itself, at least 1, "
          + "unless the environment sets it: libtorch and OpenBLAS would start a thread for each "
          + "processor in each process.",
      "",
      "When a process fails, the others are ended: SIGTERM, and SIGKILL 5 seconds later; with --keep-going they go on. "
          + "They are ended, with the processes that they started, when this program receives "
          + "SIGINT, SIGTERM or SIGHUP, too; only SIGKILL leaves it no time to."
    },
    footer = {
      "  collectives launch -n 4 -- java -cp app.jar com.example.Train --epochs 3",
      "  collectives launch -n 4 --aot train.jsa -- java -cp app.jar com.example.Train",
      "  collectives launch -n 4 --keep-going -- java -cp app.jar com.example.Survive",
      "  collectives launch -n 4 --transport shm -- java -cp app.jar com.example.Train",
      "  collectives launch -n 2 sh -c 'echo rank $RANK of $WORLD_SIZE'",
      "",
      "Exit status: 0 when all ended with 0; that of the first that failed, 128 and the signal's number if one",
      "killed it, also with --keep-going, which tells on standard error all that failed; 126 when COMMAND cannot be run, 127 when there is none of that name; 2 wrong usage."
    })
final class Launch implements Callable<Integer> {
  static final int CANNOT_RUN = 126;
  static final int NOT_FOUND = 127;

  /**
   * The system's number for it, as JDK 17 ({@code error=2,}) and JDK 25 ({@code error: 2 }) put it.
   */
  private static final Pattern NO_SUCH_FILE = Pattern.compile("error(=|: )2\\b");

  @Spec private CommandSpec spec;

  @Mixin private HelpOption help;

  @Option(
      names = {"-n", "--ranks"},
      required = true,
      paramLabel = "RANKS",
      description = "How many processes, from 1 to 1024.")
  private int ranks;

  @Option(
      names = "--aot",
      paramLabel = "FILE",
      description =
          "Start faster, by an archive of the classes that COMMAND loads, which must be "
              + "a java (the JVM's class data sharing). If FILE is not there, or does not fit "
              + "this java and its jars, rank 0 lists its classes, and an archive is made of "
              + "them when all have ended with 0, which takes some seconds; all ranks of later "
              + "runs use it. If it cannot be made a warning says why. JVMs archive classes of "
              + "jars, but not of directories.")
  private Optional<Path> archiveFile = Optional.empty();

  @Option(
      names = "--keep-going",
      description =
          "When a process fails, the others go on; this program ends when all have, and tells which failed.")
  private boolean keepGoing;

  @Option(
      names = "--transport",
      paramLabel = "NAME",
      description =
          "How they talk, as shm (shared memory), unix (Unix-domain sockets), tcp, or auto (each pair of ranks by the fastest that reaches): sets COLLECTIVES_TRANSPORT. Default: as in the environment, else auto.")
  private Optional<String> transport = Optional.empty();

  @Option(
      names = "--servers",
      paramLabel = "S",
      description =
          "The last S processes are parameter servers: sets COLLECTIVES_SERVERS, which Roles.fromEnvironment() reads. Default: as in the environment.")
  private Optional<Integer> servers = Optional.empty();

  @Option(
      names = "--proxies",
      paramLabel = "P",
      description =
          "Each of these servers is P processes, its proxies, which share the workers: sets "
              + "COLLECTIVES_PROXIES. So the last S*P processes serve. Default: as in the "
              + "environment, else 1.")
  private Optional<Integer> proxies = Optional.empty();

  @Parameters(
      arity = "1..*",
      paramLabel = "COMMAND",
      description = "The command and its arguments, passed on as they are.")
  private List<String> command = List.of();

  private final PrintStream out;
  private final PrintStream err;

  Launch() {
    this(System.out, System.err);
  }

  Launch(PrintStream out, PrintStream err) {
    this.out = out;
    this.err = err;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    Usage.require(ranks >= 1 && ranks <= 1024, spec, "-n " + ranks + ": must be from 1 to 1024");
    servers.ifPresent(
        number ->
            Usage.require(
                number >= 1 && number < ranks,
                spec,
                "--servers " + number + ": must be from 1 to " + (ranks - 1)));
    proxies.ifPresent(
        number ->
            Usage.require(
                number >= 1 && servers.isPresent() && (long) number * servers.get() < ranks,
                spec,
                "--proxies "
                    + number
                    + ": must be at least 1, goes with --servers, and leaves at least one of "
                    + ranks
                    + " processes to work"));
    archiveFile.ifPresent(
        file ->
            Usage.require(
                ClassArchive.isJava(command),
                spec,
                "--aot "
                    + file
                    + ": archives classes of a java, and COMMAND is "
                    + command.get(0)));
    command = VectorModule.addedTo(command, System.getenv());
    Optional<ClassArchive> archive =
        archiveFile.map(file -> new ClassArchive(file, command, this::warn));
    List<LinePump> pumps = new ArrayList<>();
    List<String> failed = new ArrayList<>();
    int status;
    try (ProcessGroup group = new ProcessGroup()) {
      int port = FreePort.find();
      for (int rank = 0; rank < ranks; rank++) {
        Process process;
        try {
          process = group.start(rank, builder(archive, new RankEnvironment(rank, ranks, port)));
        } catch (IOException e) {
          return cannotRun(e);
        }
        process.getOutputStream().close();
        pumps.add(
            LinePump.start(
                "rank" + rank + "-stdout", process.getInputStream(), "[" + rank + "] ", out));
        pumps.add(
            LinePump.start(
                "rank" + rank + "-stderr", process.getErrorStream(), "[" + rank + "] ", err));
      }
      status = keepGoing ? awaitAll(group, failed) : firstFailure(group);
    }
    for (LinePump pump : pumps) {
      pump.await(ProcessGroup.GRACE);
    }
    if (status == 0) {
      archive.ifPresent(ClassArchive::make);
    }
    failed.forEach(err::println);
    return status;
  }

  private void warn(String text) {
    err.println("collectives launch: " + text);
  }

  private ProcessBuilder builder(Optional<ClassArchive> archive, RankEnvironment environment) {
    ProcessBuilder builder =
        new ProcessBuilder(
            archive
                .map(some -> environment.rank() == 0 ? some.listingCommand() : some.command())
                .orElse(command));
    builder
        .environment()
        .putAll(transport.map(environment::variables).orElseGet(environment::variables));
    int processors = Math.max(1, Runtime.getRuntime().availableProcessors() / ranks);
    builder.environment().putIfAbsent("OMP_NUM_THREADS", Integer.toString(processors));
    servers.ifPresent(number -> builder.environment().put("COLLECTIVES_SERVERS", "" + number));
    proxies.ifPresent(number -> builder.environment().put("COLLECTIVES_PROXIES", "" + number));
    return builder;
  }

  /**
   * Waits until all have ended, also when some fail.
   *
   * @param failed gets a table of those that did
   */
  private int awaitAll(ProcessGroup group, List<String> failed) throws InterruptedException {
    Columns table =
        new Columns(
            List.of(Column.numbers("rank", 4), Column.numbers("status", 6), Column.words("", 0)));
    long start = System.nanoTime();
    int first = 0;
    for (int ended = 1; ended <= ranks; ended++) {
      ProcessGroup.Exit exit = group.awaitExit();
      if (exit.status() == 0) {
        continue;
      }
      err.println(
          said(exit) + (ended < ranks ? "; " + (ranks - ended) + " go on" : "; it was the last"));
      if (first == 0) {
        first = exit.status();
        failed.add(table.header());
      }
      failed.add(
          table.line(
              List.of(
                  "" + exit.rank(),
                  "" + exit.status(),
                  "after " + Units.time(System.nanoTime() - start))));
    }
    if (first != 0) {
      failed.add("collectives launch: " + (failed.size() - 1) + " of " + ranks + " ranks failed");
    }
    return first;
  }

  private static String said(ProcessGroup.Exit exit) {
    return "collectives launch: rank " + exit.rank() + " ended with status " + exit.status();
  }

  private int firstFailure(ProcessGroup group) throws InterruptedException {
    for (int ended = 0; ended < ranks; ended++) {
      ProcessGroup.Exit exit = group.awaitExit();
      if (exit.status() != 0) {
        String others = ended + 1 < ranks ? "; ending the others" : "";
        err.println(said(exit) + others);
        return exit.status();
      }
    }
    return 0;
  }

  /**
   * Reports that the command cannot be run, and returns the exit status that a shell has for it:
   * 127 if there is no such command, 126 otherwise.
   */
  private int cannotRun(IOException e) {
    String message = String.valueOf(e.getMessage());
    if (NO_SUCH_FILE.matcher(message).find()) {
      err.println("collectives launch: " + command.get(0) + ": no such command");
      return NOT_FOUND;
    }
    err.println("collectives launch: " + message);
    return CANNOT_RUN;
  }
}
