package io.collectives.bench.chaos;

import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JoinException;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Survivors;
import io.collectives.bench.process.ParentLines;
import java.io.PrintStream;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * A rank that sums until it is told otherwise, and goes on with the survivors when a rank is lost.
 *
 * <p>The payloads are numbered. Payload p of world rank r is whole numbers that follow from p and r
 * alone, so that it can be made again after a failure and its sum over any group is known exactly.
 * {@link #WINDOW} payloads of different sizes are under way at once.
 *
 * <p>All ranks must stop after the same payload. So a command reaches one of them, by {@link
 * ParentLines}, and travels to the others as one more element of its payloads.
 *
 * <p>What it says, a line each, times in microseconds since 1970:
 *
 * <pre>
 *   joined TIME                      it has met the others
 *   unjoined TIME MESSAGE            it has not
 *   summing                          the first 64 sums of the group were right
 *   idle                             no call is under way; "go" makes it go on
 *   lost TIME RANK VERDICT           a call failed, because of that world rank
 *   shrunk TIME SIZE LOST[,LOST...]  the group that is left, and the world ranks that it lacks
 *   right TIME                       its first sum was right
 *   out TIME MESSAGE                 there is no group for this rank any more
 *   wrong MESSAGE                    a sum was wrong
 *   failed MESSAGE                   any other error
 *   done                             told to end, all sums were right
 * </pre>
 */
public final class ChaosWorker {
  /** The command that makes all ranks wait for "go". */
  static final String DRAIN = "drain";

  /** The command that makes all ranks end. */
  static final String END = "end";

  /** What makes a rank that is idle go on. */
  static final String GO = "go";

  private static final int WINDOW = 8;

  /** Elements of payload p: those at p modulo 4. */
  private static final int[] COUNTS = {1, 1_000, 20_000, 150_000};

  private static final int MANY = 64;

  private final int worldRank;
  private final PrintStream out;
  private final Slot[] slots = new Slot[WINDOW];
  private final Semaphore goes = new Semaphore(0);
  private volatile int command;
  private Communicator group;

  /** The number of the payload that was the group's first call. */
  private long first;

  /** How many sums of the group were found right. */
  private long right;

  private boolean shrunken;

  private ChaosWorker(Communicator world, PrintStream out) {
    this.group = world;
    this.worldRank = world.worldRank(world.rank());
    this.out = out;
    Arrays.setAll(slots, i -> new Slot(COUNTS[i % COUNTS.length]));
  }

  /** Joins the job of the environment, and sums until told to end, or left out. */
  public static void run(ParentLines parent, PrintStream out) throws InterruptedException {
    try (Communicator world = Collectives.join()) {
      ChaosWorker worker = new ChaosWorker(world, out);
      worker.say("joined " + now());
      Thread thread = new Thread(() -> worker.listen(parent), "commands");
      thread.setDaemon(true);
      thread.start();
      worker.work();
    } catch (JoinException e) {
      say(out, "unjoined " + now() + " " + e.getMessage());
    }
  }

  private void listen(ParentLines parent) {
    try {
      for (Optional<String> line; (line = parent.next()).isPresent(); ) {
        if (line.get().equals(GO)) {
          goes.release();
        } else {
          command = code(line.get());
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static int code(String line) {
    return switch (line) {
      case DRAIN -> 1;
      case END -> 2;
      default -> throw new IllegalArgumentException("no command: " + line);
    };
  }

  private void work() throws InterruptedException {
    while (true) {
      try {
        int told = sum();
        if (told == code(END)) {
          say("done");
          return;
        }
        say("idle");
        goes.acquire();
      } catch (RankFailedException e) {
        say("lost " + now() + " " + e.worldRank() + " " + e.verdict());
        if (!shrink()) {
          return;
        }
      } catch (WrongSumException e) {
        say("wrong " + e.getMessage());
        return;
      } catch (CollectiveException e) {
        say("failed " + e);
        return;
      }
    }
  }

  private boolean shrink() {
    Survivors survivors;
    try {
      survivors = group.shrink();
    } catch (CollectiveException e) {
      say("out " + now() + " " + e);
      return false;
    }
    first += survivors.resumeAt();
    group = survivors.group();
    right = 0;
    shrunken = true;
    String lost = survivors.lost().toString().replaceAll("[\\[\\] ]", "");
    say("shrunk " + now() + " " + group.size() + " " + lost);
    return true;
  }

  /** Sums until a command has arrived by a sum; no call is under way then. */
  private int sum() {
    long next = first + group.nextSequence();
    long oldest = next;
    try {
      int told = 0;
      while (told == 0) {
        while (next < oldest + WINDOW) {
          slot(next).submit(next);
          next++;
        }
        told = slot(oldest).finish(oldest++);
      }
      while (oldest < next) {
        slot(oldest).finish(oldest++);
      }
      command = 0;
      return told;
    } catch (CollectiveException e) {
      // Before their buffers are used again, the other calls have ended, too.
      while (oldest < next) {
        slot(oldest++).giveUp();
      }
      throw e;
    }
  }

  private Slot slot(long payload) {
    return slots[(int) (payload % WINDOW)];
  }

  private void isRight() {
    right++;
    if (shrunken && right == 1) {
      say("right " + now());
    }
    if (right == MANY) {
      say("summing");
    }
  }

  private static int seed(int rank, long payload) {
    return (rank + 1) * 1_000_003 + (int) payload * 7_919;
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  private void say(String line) {
    say(out, line);
  }

  private static void say(PrintStream to, String line) {
    to.println(line.replaceAll("\\s+", " "));
    to.flush();
  }

  /** Buffers of a payload, and the call that it is in. */
  private final class Slot {
    private final int[] input;
    private final int[] output;
    private final Payload inputPayload;
    private final Payload outputPayload;
    private @Nullable CollectiveHandle handle;

    Slot(int count) {
      this.input = new int[count + 1];
      this.output = new int[count + 1];
      this.inputPayload = Payload.of(input);
      this.outputPayload = Payload.of(output);
    }

    void submit(long payload) {
      int start = seed(worldRank, payload);
      Arrays.setAll(input, i -> start + i);
      input[input.length - 1] = command;
      Arrays.fill(output, -1);
      handle = group.allReduceAsync(inputPayload, outputPayload, ReduceOp.SUM);
    }

    /** Returns the command that came with the sum. */
    int finish(long payload) {
      Objects.requireNonNull(handle).await();
      int start = 0;
      for (int rank = 0; rank < group.size(); rank++) {
        start += seed(group.worldRank(rank), payload);
      }
      for (int i = 0; i < output.length - 1; i++) {
        int expected = start + group.size() * i;
        if (output[i] != expected) {
          throw new WrongSumException(payload, i, output[i], expected);
        }
      }
      int told = output[output.length - 1];
      if (told < 0 || told > 2) {
        throw new WrongSumException(payload, output.length - 1, told, 0);
      }
      isRight();
      return told;
    }

    void giveUp() {
      try {
        Objects.requireNonNull(handle).await();
      } catch (CollectiveException e) {
        // As expected of a broken group.
      }
    }
  }

  /** A sum that is not what it must be. */
  private static final class WrongSumException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    WrongSumException(long payload, int element, int got, int expected) {
      super("payload " + payload + ", element " + element + ": " + got + " instead of " + expected);
    }
  }
}
