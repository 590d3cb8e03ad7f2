package io.collectives.bench.chaos;

import io.collectives.bench.chaos.ChaosJob.UnexpectedLineException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.random.RandomGenerator;

/**
 * A job whose ranks are paused, one after the other, for less than the silence limit: no rank may
 * be given up. Half of the pauses begin while no call is under way. After each one all ranks must
 * come to the same call again, with right sums.
 *
 * @param site where the job was
 * @param pauses how many there were before one went wrong, or all
 * @param falseAlarms how many ranks lost somebody
 * @param hangs how many ranks had not ended when time was up
 * @param complaints what was not as it must be, for people
 */
public record PauseRun(Site site, int pauses, int falseAlarms, int hangs, List<String> complaints) {
  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final int LONGEST_GAP_MILLIS = 250;

  /** Keeps a copy of the list. */
  public PauseRun {
    complaints = List.copyOf(complaints);
  }

  /**
   * Runs it until all pauses are over or one went wrong.
   *
   * @param progress is told how many are over
   * @throws IOException if the processes cannot be started or signalled
   */
  public static PauseRun run(
      int pauses,
      Duration pause,
      ChaosSettings settings,
      RandomGenerator random,
      IntConsumer progress)
      throws IOException, InterruptedException {
    Duration perPause = pause.plusMillis(LONGEST_GAP_MILLIS).plusSeconds(2);
    Duration limit = START_LIMIT.plus(perPause.multipliedBy(pauses));
    List<String> complaints = new ArrayList<>();
    int over = 0;
    int falseAlarms = 0;
    try (ChaosJob job = ChaosJob.started(settings.patient(), limit)) {
      falseAlarms += each(job, "joined", complaints);
      falseAlarms += each(job, "summing", complaints);
      while (complaints.isEmpty() && over < pauses) {
        Process victim = job.process(random.nextInt(settings.ranks()));
        boolean idle = random.nextBoolean();
        if (idle) {
          job.tell(0, ChaosWorker.DRAIN);
          falseAlarms += each(job, "idle", complaints);
        } else {
          Thread.sleep(random.nextInt(LONGEST_GAP_MILLIS));
        }
        Signal.STOP.send(victim);
        if (idle) {
          go(job);
        }
        Thread.sleep(pause.toMillis());
        Signal.CONT.send(victim);
        if (complaints.isEmpty()) {
          job.tell(0, ChaosWorker.DRAIN);
          falseAlarms += each(job, "idle", complaints);
          go(job);
        }
        over++;
        progress.accept(over);
      }
      if (complaints.isEmpty()) {
        job.tell(0, ChaosWorker.END);
        falseAlarms += each(job, "done", complaints);
      }
      return new PauseRun(settings.site(), over, falseAlarms, job.hung().size(), complaints);
    }
  }

  private static void go(ChaosJob job) {
    for (int rank = 0; rank < job.ranks(); rank++) {
      job.tell(rank, ChaosWorker.GO);
    }
  }

  /** Hears a word of all; returns how many say that they have lost a rank. */
  private static int each(ChaosJob job, String word, List<String> complaints) {
    int losses = 0;
    for (int rank = 0; rank < job.ranks(); rank++) {
      try {
        job.hear(rank, word);
      } catch (UnexpectedLineException e) {
        losses += e.isLoss() ? 1 : 0;
        complaints.add(String.valueOf(e.getMessage()));
      } catch (IOException e) {
        complaints.add(String.valueOf(e.getMessage()));
      }
    }
    return losses;
  }
}
