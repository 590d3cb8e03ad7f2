package io.collectives.bench.chaos;

import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.Security;
import io.collectives.bench.chaos.PriceOutcome.Arm;
import io.collectives.bench.chaos.PriceOutcome.Growth;
import io.collectives.bench.chaos.PriceOutcome.Slice;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.Worker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A job that sums while strangers come and go.
 *
 * <p>Where strangers run on the processors of the ranks, they cost time whatever they do: that of
 * their own work, and of the kernel's for their connections. So there are three arms, in turn, in
 * the same job: no strangers; the same strangers at a {@link DummyListener}; the same at the ranks.
 * The last divided by the second is the price of what this library does with them; divided by the
 * first, also that of sharing a machine with them. Each round begins with another arm, so that
 * nothing that changes slowly favours one.
 *
 * <p>The job has a secret, so that strangers get as far as those can who do not know it: they
 * replay what a rank said, and get a challenge that they cannot answer.
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
  private final StrangerSource source;
  private final Consumer<String> progress;
  private final List<long[]> before = new ArrayList<>();
  private final long[] most = new long[FIGURES];
  private final long[] last = new long[FIGURES];
  private final List<Slice> slices = new ArrayList<>();

  private PriceRun(
      PriceSettings settings, ChaosJob job, StrangerSource source, Consumer<String> progress) {
    this.settings = settings;
    this.job = job;
    this.source = source;
    this.progress = progress;
  }

  /**
   * Runs it, until all strangers have been there or a call has failed.
   *
   * @param progress is told what is being done
   * @throws IOException if the processes cannot be started
   * @throws io.collectives.JoinException if they do not meet
   */
  public static PriceOutcome run(PriceSettings settings, Consumer<String> progress)
      throws IOException, InterruptedException {
    Duration strangers =
        Duration.ofSeconds(3L * settings.strangers() / settings.perSecond())
            .plus(SETTLE_LIMIT.multipliedBy(3L * settings.rounds()));
    byte[] bytes = new byte[SECRET_LENGTH];
    new SecureRandom().nextBytes(bytes);
    String secret = HexFormat.of().formatHex(bytes);
    int seats = settings.ranks() + 1;
    ChaosSettings jobs =
        new ChaosSettings(
            seats, settings.rankCommand(), Site.tcp(), SILENCE_LIMIT, START_LIMIT, settings.err());
    try (ProcessGroup others = new ProcessGroup();
        Worker listener =
            Worker.start(others, 0, settings.listenerCommand(), Map.of(), settings.err());
        ChaosJob job =
            new ChaosJob(
                jobs,
                START_LIMIT.plus(settings.warmUp()).plus(strangers.multipliedBy(2)),
                null,
                Map.of("COLLECTIVES_SECRET", secret));
        StrangerSource source = new StrangerSource(settings.seed())) {
      for (int rank = 0; rank < settings.ranks(); rank++) {
        job.start(rank);
      }
      progress.accept("the ranks meet");
      List<Stranger.Victim> victims =
          new Eavesdropper(
                  JobSettings.of(
                          settings.ranks(), seats, URI.create("tcp://127.0.0.1:" + job.port()))
                      .withTransport("tcp")
                      .withSecurity(Security.none().withSecret(JobSecret.of(secret))))
              .listen();
      int port = Integer.parseInt(listener.receive().replace("listening ", ""));
      List<Stranger.Victim> dummy = List.of(new Stranger.Victim(port, victims.get(0).hello()));
      return new PriceRun(settings, job, source, progress).run(victims, dummy);
    }
  }

  private PriceOutcome run(List<Stranger.Victim> victims, List<Stranger.Victim> dummy)
      throws InterruptedException {
    List<String> complaints = new ArrayList<>();
    try {
      for (int rank = 0; rank < settings.ranks(); rank++) {
        job.hear(rank, "summing");
      }
      progress.accept("warming up");
      Thread.sleep(settings.warmUp().toMillis());
      for (int rank = 0; rank < settings.ranks(); rank++) {
        before.add(memory(rank));
      }
      Arm[] arms = Arm.values();
      for (int round = 0; round < settings.rounds(); round++) {
        for (int turn = 0; turn < arms.length; turn++) {
          Arm arm = arms[(round + turn) % arms.length];
          progress.accept(
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

  private Slice slice(Arm arm, int round, List<Stranger.Victim> victims)
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
        Long.parseLong(words.get(1)),
        Long.parseLong(words.get(2)),
        Long.parseLong(words.get(3)),
        Long.parseLong(words.get(4)),
        Long.parseLong(words.get(5)));
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
