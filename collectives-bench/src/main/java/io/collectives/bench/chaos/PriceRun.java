package io.collectives.bench.chaos;

import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.Security;
import io.collectives.bench.chaos.PriceOutcome.Arm;
import io.collectives.bench.chaos.PriceOutcome.Growth;
import io.collectives.bench.chaos.PriceOutcome.Slice;
import io.collectives.bench.chaos.PriceOutcome.Times;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.Worker;
import io.collectives.bench.report.Progress;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * A job that sums while unauthenticated peers, the intruders, connect and disconnect.
 *
 * <p>Intruders that run on the processors of the ranks cost time whatever they do: that of their
 * own work, and that of the kernel for their connections. So the same job goes through three arms
 * in turn: no intruders; intruders at a {@link DummyListener}; as many intruders at the ranks. The
 * time of the last divided by that of the second is the price of what this library does with them;
 * divided by that of the first, it includes sharing a machine with them. Each round begins with
 * another arm, so that nothing that changes slowly favours one.
 *
 * <p>The job has a secret, which the intruders do not know: they replay what a rank has sent, and
 * get a challenge that they cannot answer.
 */
public final class PriceRun {
  private static final int SECRET_LENGTH = 32;

  /** Of the memory of a rank. */
  private static final int FIGURES = 3;

  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final Duration SETTLE_LIMIT = Duration.ofSeconds(30);
  private static final Duration SILENCE_LIMIT = Duration.ofSeconds(5);

  private final PriceSettings settings;
  private final ChaosJob job;
  private final IntruderSource source;
  private final Progress progress;
  private final List<long[]> before = new ArrayList<>();
  private final long[] most = new long[FIGURES];
  private final long[] last = new long[FIGURES];
  private final List<Slice> slices = new ArrayList<>();

  private PriceRun(PriceSettings settings, ChaosJob job, IntruderSource source, Progress progress) {
    this.settings = settings;
    this.job = job;
    this.source = source;
    this.progress = progress;
  }

  /**
   * Runs the job until all intruders have connected or a call has failed.
   *
   * @param err gets what the processes write to standard error
   * @param progress is told what is being done
   * @throws IOException if the processes cannot be started
   * @throws io.collectives.JoinException if they do not meet
   */
  public static PriceOutcome run(PriceSettings settings, PrintStream err, Progress progress)
      throws IOException, InterruptedException {
    Duration visits =
        Duration.ofSeconds(3L * settings.intruders() / settings.perSecond())
            .plus(SETTLE_LIMIT.multipliedBy(3L * settings.rounds()));
    byte[] bytes = new byte[SECRET_LENGTH];
    new SecureRandom().nextBytes(bytes);
    String secret = HexFormat.of().formatHex(bytes);
    int size = settings.ranks() + 1;
    ChaosSettings jobs =
        new ChaosSettings(
            size, settings.rankCommand(), Site.tcp(), SILENCE_LIMIT, START_LIMIT, err);
    try (ProcessGroup others = new ProcessGroup();
        Worker listener = Worker.start(others, 0, settings.listenerCommand(), Map.of(), err);
        ChaosJob job =
            new ChaosJob(
                jobs,
                START_LIMIT.plus(settings.warmUp()).plus(visits.multipliedBy(2)),
                null,
                Map.of("COLLECTIVES_SECRET", secret));
        IntruderSource source = new IntruderSource(settings.seed())) {
      for (int rank = 0; rank < settings.ranks(); rank++) {
        job.start(rank);
      }
      progress.step("the ranks meet");
      List<Intruder.Victim> victims =
          new Eavesdropper(
                  JobSettings.of(
                          settings.ranks(), size, URI.create("tcp://127.0.0.1:" + job.port()))
                      .withTransport("tcp")
                      .withSecurity(Security.none().withSecret(JobSecret.of(secret))))
              .listen();
      int port = Integer.parseInt(listener.receive().replace("listening ", ""));
      List<Intruder.Victim> dummy = List.of(new Intruder.Victim(port, victims.get(0).hello()));
      return new PriceRun(settings, job, source, progress).run(victims, dummy);
    }
  }

  private PriceOutcome run(List<Intruder.Victim> victims, List<Intruder.Victim> dummy)
      throws InterruptedException {
    List<String> complaints = new ArrayList<>();
    try {
      for (int rank = 0; rank < settings.ranks(); rank++) {
        job.hear(rank, "summing");
      }
      Arm[] arms = Arm.values();
      double ofRounds = (double) settings.rounds() * arms.length * PriceSettings.SLICE_SECONDS;
      progress.expect(settings.warmUp().toSeconds() + ofRounds);
      progress.step("warming up");
      Thread.sleep(settings.warmUp().toMillis());
      progress.done(settings.warmUp().toSeconds());
      for (int rank = 0; rank < settings.ranks(); rank++) {
        before.add(memory(rank));
      }
      for (int round = 0; round < settings.rounds(); round++) {
        for (int turn = 0; turn < arms.length; turn++) {
          Arm arm = arms[(round + turn) % arms.length];
          progress.step(
              "round " + (round + 1) + " of " + settings.rounds() + ", strangers: " + arm);
          slices.add(
              slice(
                  arm,
                  round,
                  switch (arm) {
                    case NONE -> List.of();
                    case DUMMY -> dummy;
                    case RANKS -> victims;
                  }));
          progress.done(PriceSettings.SLICE_SECONDS);
        }
      }
      look();
      job.tell(0, PriceWorker.END);
      for (int rank = 0; rank < settings.ranks(); rank++) {
        job.hear(rank, "done");
      }
    } catch (UncheckedIOException | IOException e) {
      complaints.add(
          job.hung().isEmpty()
              ? String.valueOf(e.getMessage())
              : "ranks " + job.hung() + " hang: they had not ended when time was up");
    }
    return new PriceOutcome(
        slices, new Growth(most[0], last[0], most[1], last[1], most[2], last[2]), complaints);
  }

  private Slice slice(Arm arm, int round, List<Intruder.Victim> victims)
      throws IOException, InterruptedException {
    int connected = source.connected();
    int count = settings.inRound(round);
    mark();
    source.make(count, settings.perSecond(), victims, this::look);
    List<String> words = mark();
    source.settle();
    return new Slice(
        arm,
        round,
        victims.isEmpty() ? 0 : count,
        source.connected() - connected,
        new Times(
            Long.parseLong(words.get(1)),
            Long.parseLong(words.get(2)),
            Long.parseLong(words.get(3)),
            Long.parseLong(words.get(4)),
            Long.parseLong(words.get(5))));
  }

  /** Rank 0's calls since the last time. */
  private List<String> mark() throws IOException {
    job.tell(0, PriceWorker.MARK);
    return job.hear(0, "calls");
  }

  /** Looks how much the ranks have grown. */
  private void look() {
    try {
      Arrays.fill(last, 0);
      for (int rank = 0; rank < settings.ranks(); rank++) {
        long[] now = memory(rank);
        for (int figure = 0; figure < FIGURES; figure++) {
          last[figure] = Math.max(last[figure], now[figure] - before.get(rank)[figure]);
          most[figure] = Math.max(most[figure], last[figure]);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private long[] memory(int rank) throws IOException {
    job.tell(rank, PriceWorker.MEMORY);
    return job.hear(rank, "memory").stream().skip(1).mapToLong(Long::parseLong).toArray();
  }
}
