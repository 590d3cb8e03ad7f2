package io.collectives.bench;

import io.collectives.bench.status.JobRanks;
import io.collectives.bench.status.Jobs;
import io.collectives.bench.status.Observation;
import io.collectives.bench.status.RankAnswer;
import io.collectives.bench.status.Records;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code collectives status}: what a running job does, and who keeps the others waiting. */
@Command(
    name = "status",
    customSynopsis = "collectives status [OPTION...] [PID|DIRECTORY|HOST:PORT]",
    sortOptions = false,
    descriptionHeading = "%n",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Ask the ranks of a running job what they do: who waits for whom, and what the rank that keeps "
          + "the others waiting is doing, with its stack traces.",
      "",
      "It looks at all ranks ten times in a second and says in sentences what that means; then for "
          + "each rank the call that it is in, for which rank and how long it waits, at how many "
          + "looks others waited for it, the bytes per second that it sends and receives, and the "
          + "shares of its time that garbage collection and processors take; then groups and "
          + "links. The job is neither stopped nor started anew.",
      "",
      "Every rank answers to processes of its own user and to root; COLLECTIVES_STATUS=off keeps it "
          + "from that. A rank of another host is asked at the port where it listens for other "
          + "ranks, with the job's secret and certificates from the variables from which ranks "
          + "read them; without a secret only loopback is answered."
    },
    footer = {
      "  collectives status                    the only job of this user here, or a list of jobs",
      "  collectives status 12345              the job of which process 12345 is a rank",
      "  collectives status /shared/jobs/night the job whose ranks met in that directory",
      "  collectives status 10.0.0.2:29600     the rank that listens there, and its job",
      "  collectives status --watch            again and again, until Ctrl-C",
      "  collectives status --trace 5 -o dir   what all ranks do in the next five seconds",
      "",
      "Exit status: 0 a job was looked at, or there is none; 1 there is no such job, or none of its "
          + "ranks answers; 2 wrong usage."
    })
final class Status implements Callable<Integer> {
  private static final int LOOKS = 10;
  private static final int LOOKS_OF_WATCH = 5;
  private static final Duration PAUSE = Duration.ofMillis(100);
  private static final Duration PAUSE_OF_WATCH = Duration.ofMillis(200);
  private static final String CLEAR = "\u001b[H\u001b[2J";

  @Spec private CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "PID|DIRECTORY|HOST:PORT",
      description =
          "A process of the job; or where its ranks met, or where status sockets lie; or where a "
              + "rank listens.")
  private @Nullable String which;

  @Option(
      names = {"-w", "--watch"},
      description = "Look again and again, about once a second, until Ctrl-C or the job's end.")
  private boolean watch;

  @Option(
      names = "--links",
      description = "Show the links between all pairs, also of jobs of many ranks.")
  private boolean links;

  @Option(
      names = "--trace",
      paramLabel = "TIME",
      description =
          "Trace all ranks for so long, at most 59 s, and write what they did for collectives "
              + "timeline, into the directory of --out.")
  private @Nullable Duration trace;

  @Option(
      names = "--flight",
      description =
          "Write the last calls of all ranks for collectives flight, into the directory of --out.")
  private boolean flight;

  @Option(
      names = {"-o", "--out"},
      defaultValue = "records",
      paramLabel = "DIRECTORY",
      description = "Where --trace and --flight write to. Default: ${DEFAULT-VALUE}.")
  private Path out = Path.of("records");

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException, InterruptedException {
    Usage.require(
        trace == null || trace.toMillis() >= 1 && trace.toSeconds() <= 59,
        spec,
        "--trace: must be from 0.001 to 59 seconds");
    Usage.require(
        !watch || trace == null && !flight, spec, "--watch goes neither with --trace nor --flight");
    Jobs jobs = Jobs.of(which);
    if (jobs.found().size() != 1) {
      return list(jobs);
    }
    JobRanks job = jobs.found().get(0).completed();
    if (trace != null || flight) {
      return fetch(job);
    }
    Observation seen = Observation.of(job, watch ? 2 : LOOKS, PAUSE);
    if (seen.any() == null) {
      print(seen);
      return ExitStatus.FAILED;
    }
    while (true) {
      print(seen);
      if (!watch) {
        return 0;
      }
      seen = Observation.of(job, LOOKS_OF_WATCH, PAUSE_OF_WATCH);
      if (seen.any() == null) {
        out().println("No rank of the job answers any more.");
        out().flush();
        return 0;
      }
    }
  }

  private int fetch(JobRanks job) throws IOException, InterruptedException {
    int files = 0;
    if (trace != null) {
      files += tell(Records.trace(job, trace, out), "timeline");
    }
    if (flight) {
      files += tell(Records.flight(job, out), "flight");
    }
    return files > 0 ? 0 : ExitStatus.FAILED;
  }

  private int tell(Records records, String reader) {
    PrintWriter err = spec.commandLine().getErr();
    records.problems().forEach((rank, why) -> err.println("Rank " + rank + why));
    err.flush();
    if (!records.files().isEmpty()) {
      out()
          .println(
              "Records of "
                  + records.files().size()
                  + " ranks are in "
                  + out
                  + ": collectives "
                  + reader
                  + " "
                  + out);
      out().flush();
    }
    return records.files().size();
  }

  private PrintWriter out() {
    return spec.commandLine().getOut();
  }

  private void print(Observation seen) {
    if (watch && format.wanted() == Format.TABLE && System.console() != null) {
      out().print(CLEAR);
    }
    new StatusPage(seen).print(format.wanted(), links, out());
  }

  private int list(Jobs jobs) throws InterruptedException {
    PrintWriter out = out();
    jobs.refused().forEach(reason -> spec.commandLine().getErr().println(reason));
    spec.commandLine().getErr().flush();
    if (jobs.found().isEmpty()) {
      out.println(
          "No job of this user runs on this host, or none that answers (COLLECTIVES_STATUS=off).");
      out.flush();
      return 0;
    }
    FigureTable table = new FigureTable(3, "job", "pids", "met at", "ranks here", "ranks");
    for (JobRanks job : jobs.found()) {
      RankAnswer any = Observation.of(job, 1, PAUSE).any();
      table.row(
          List.of(
              any == null ? "no answer" : any.place().job(),
              job.pids(),
              any == null ? "?" : any.place().rendezvous(),
              "" + job.endpoints().size(),
              any == null ? "?" : "" + any.place().size()),
          Map.of("run", job.run(), "pids", job.pids()));
    }
    table.print(
        format.wanted(), out, List.of("Several jobs run; give the pid of a process of one."));
    return 0;
  }
}
