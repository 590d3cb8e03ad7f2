package io.collectives.bench.perf;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.bench.network.Hosts;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.ParentLines;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.RankEnvironment;
import io.collectives.bench.process.Worker;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Ranks that are processes. They read cases from standard input, which uses no processor while
 * there is none, and answer on standard output.
 */
public final class ProcessRanks implements Ranks {
  private static final String READY = "ready";
  private static final String WARM_UP = "warm-up ";
  private static final String MEASURE = "measure ";

  private static final String SILENCE_LIMIT = "COLLECTIVES_SILENCE_LIMIT";
  private static final String PATIENT_SECONDS = "60";

  /** The port at which ranks meet is another one. */
  private static final int NETWORK_SAYS = 0;

  private final ProcessGroup group = new ProcessGroup();
  private final List<Worker> workers = new ArrayList<>();
  private List<String> transports = List.of();

  private ProcessRanks() {}

  /**
   * Starts processes and waits until they have joined.
   *
   * @param transport by which they talk
   * @param command runs {@link #serve} in a JVM of its own; one of several ranks is told their
   *     number by an argument more, {@code --threads}
   */
  public static ProcessRanks start(
      Seating seating, String transport, List<String> command, PrintStream err) throws IOException {
    int port = FreePort.find();
    return start(
        seating.processes(),
        (group, rank, threads) -> {
          Map<String, String> environment =
              new RankEnvironment(rank, seating.ranks(), port).variables(transport);
          if (!seating.hosts().isEmpty()) {
            environment.put("COLLECTIVES_HOST", seating.hosts().get(rank));
          }
          List<String> own = new ArrayList<>(command);
          if (threads > 1) {
            own.add("--threads=" + threads);
          }
          return Worker.start(group, rank, own, environment, err);
        });
  }

  /**
   * Starts a process on each host of a network, where they talk by TCP, or by shared memory with
   * others of the same host, and waits until they have joined. There may be many on few processors,
   * so they take longer than usual for a dead rank, unless the environment says otherwise.
   *
   * @param hosts have to last as long as the ranks
   * @param command runs {@link #serve} in a JVM of its own
   */
  public static ProcessRanks start(
      Hosts hosts, Seating seating, List<String> command, PrintStream err) throws IOException {
    List<String> names = seating.hosts();
    return start(
        seating.processes(),
        (group, rank, threads) -> {
          RankEnvironment place = new RankEnvironment(rank, hosts.hosts(), NETWORK_SAYS);
          Map<String, String> environment =
              new HashMap<>(place.variables(names.isEmpty() ? "tcp" : "auto"));
          environment.putAll(hosts.variables(rank));
          environment.put(
              SILENCE_LIMIT, System.getenv().getOrDefault(SILENCE_LIMIT, PATIENT_SECONDS));
          if (!names.isEmpty()) {
            environment.put("COLLECTIVES_HOST", names.get(rank));
          }
          return Worker.start(group, rank, hosts.on(rank, command), environment, err);
        });
  }

  private static ProcessRanks start(List<Integer> processes, Starter starter) throws IOException {
    ProcessRanks started = new ProcessRanks();
    try {
      int rank = 0;
      for (int threads : processes) {
        started.workers.add(starter.start(started.group, rank, threads));
        rank += threads;
      }
      started.transports =
          List.of(started.answers().get(0).substring(READY.length() + 1).split(","));
      return started;
    } catch (IOException | RuntimeException e) {
      started.close();
      throw e;
    }
  }

  @FunctionalInterface
  private interface Starter {
    Worker start(ProcessGroup group, int rank, int threads) throws IOException;
  }

  /**
   * Returns what such a process does: joins the job that its environment describes, with the ranks
   * that follow its own if it has several, and works until there are no more cases.
   */
  public static void serve(
      Map<String, String> environment,
      int threads,
      CallSettings calls,
      ParentLines parent,
      PrintStream out)
      throws InterruptedException {
    List<JobSettings> ranks = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      Map<String, String> own = new HashMap<>(environment);
      own.put("RANK", "" + (Integer.parseInt(environment.getOrDefault("RANK", "0")) + thread));
      JobSettings settings = Collectives.settings(own);
      ranks.add(settings.withCalls(withEnvironment(calls, settings.calls())));
    }
    try (ThreadRanks joined = ThreadRanks.joined(ranks)) {
      answer(out, READY + " " + String.join(",", joined.transports()));
      for (Optional<String> line; (line = parent.next()).isPresent(); ) {
        String wanted = line.get();
        answer(out, joined.all(world -> work(world, wanted)).get(0));
      }
    }
  }

  /** Returns the settings of calls with those that only the environment has. */
  private static CallSettings withEnvironment(CallSettings calls, CallSettings environment) {
    CallSettings both = calls.withSilenceLimit(environment.silenceLimit());
    Path trace = environment.traceDirectory();
    Path report = environment.reportDirectory();
    both = trace == null ? both : both.withTraceDirectory(trace);
    return report == null ? both : both.withReportDirectory(report);
  }

  @Override
  public List<String> transports() {
    return transports;
  }

  @Override
  public void warmUp(PerfCase work, long nanos) throws IOException {
    tell(WARM_UP + nanos + " " + work.line());
    answers();
  }

  @Override
  public CaseResult measure(PerfCase work) throws IOException {
    tell(MEASURE + work.line());
    return CaseResult.parse(answers().get(0));
  }

  @Override
  public void close() {
    for (Worker worker : workers) {
      try {
        worker.close();
      } catch (IOException e) {
        // It has ended.
      }
    }
    group.awaitEnd();
    group.close();
  }

  private static String work(Communicator world, String line) {
    if (line.startsWith(MEASURE)) {
      return CaseRun.measure(world, PerfCase.parse(line.substring(MEASURE.length()))).line();
    }
    String[] words = line.substring(WARM_UP.length()).split(" ", 2);
    CaseRun.warmUp(world, PerfCase.parse(words[1]), Long.parseLong(words[0]));
    return READY;
  }

  private static void answer(PrintStream out, String line) {
    out.println(line);
    out.flush();
  }

  private void tell(String line) throws IOException {
    for (Worker worker : workers) {
      worker.send(line);
    }
  }

  private List<String> answers() throws IOException {
    List<String> answers = new ArrayList<>();
    for (Worker worker : workers) {
      answers.add(worker.receive());
    }
    return answers;
  }
}
