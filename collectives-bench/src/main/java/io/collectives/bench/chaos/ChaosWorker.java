package io.collectives.bench.chaos;

import io.collectives.Algorithm;
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
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * A rank that sums until it is told otherwise, and goes on with the survivors when a rank is lost.
 *
 * <p>The payloads are numbered. Payload p of world rank r is whole numbers that follow from p and r
 * alone, so that it can be made again after a failure and its sum over any group is known exactly.
 * {@link #WINDOW} payloads of different sizes are under way at once.
 *
 * <p>All ranks must stop after the same payload. So a command reaches one of them, by {@link
 * ParentLines}, and travels to the others as one more element of its payloads. What a rank does
 * while it is idle, each is told by itself.
 *
 * <p>A process that takes the rank of a dead one does not know how far the others are. So the first
 * call of a world that has just met is the greatest of all their numbers.
 *
 * <p>What it says, a line each, times in microseconds since 1970:
 *
 * <pre>
 *   joined TIME                      it has met the others
 *   unjoined TIME MESSAGE            it has not
 *   summing                          the first 64 sums of the group were right
 *   idle                             no call is under way
 *   gauge HEAP BUFFERS THREADS FILES bytes of heap and others, threads, open files
 *   grown TIME                       it has met the processes that replace dead ranks
 *   ungrown TIME MESSAGE             it has not, and is idle again
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

  /** The line that makes an idle rank go on. */
  static final String GO = "go";

  /** The line that makes an idle rank join the processes that replace dead ranks, and go on. */
  static final String GROW = "grow";

  /** The line that makes an idle rank report its resources. */
  static final String GAUGE = "gauge";

  private static final int WINDOW = 8;

  /** Elements of payload p: those at p modulo 4. */
  private static final int[] COUNTS = {1, 1_000, 20_000, 150_000};

  private static final int MANY = 64;

  private final int worldRank;
  private final PrintStream out;
  private final Slot[] slots = new Slot[WINDOW];
  private final BlockingQueue<String> whileIdle = new LinkedBlockingQueue<>();
  private final boolean byRing;
  private volatile int command;
  private Communicator world;
  private Communicator group;

  /** The number of the group's first payload. */
  private long first;

  /** The number of calls of the group before that payload: 1 in a world that has just joined. */
  private int before;

  /** The number of right sums of the group. */
  private long right;

  private boolean shrunken;

  private ChaosWorker(Communicator world, boolean byRing, PrintStream out) {
    this.byRing = byRing;
    this.worldRank = world.worldRank(world.rank());
    this.out = out;
    Arrays.setAll(slots, i -> new Slot(COUNTS[i % COUNTS.length]));
    this.world = world;
    this.group = world;
    enter(world);
  }

  /**
   * Joins the job of the environment, and sums until told to end, or left out.
   *
   * @param byRing whether by a ring, in which each rank needs the next one, and not by what is
   *     fastest
   */
  public static void run(boolean byRing, ParentLines parent, PrintStream out)
      throws InterruptedException {
    Communicator world;
    try {
      world = Collectives.join();
    } catch (JoinException e) {
      say(out, "unjoined " + now() + " " + e.getMessage());
      return;
    }
    ChaosWorker worker = new ChaosWorker(world, byRing, out);
    try {
      worker.say("joined " + now());
      Thread thread = new Thread(() -> worker.listen(parent), "commands");
      thread.setDaemon(true);
      thread.start();
      worker.work();
    } finally {
      worker.world.close();
    }
  }

  /** Goes on in a world that has just met. */
  private void enter(Communicator met) {
    world = met;
    group = byRing ? met.using(Algorithm.ring()) : met;
    before = 1;
    right = 0;
    shrunken = false;
  }

  private void listen(ParentLines parent) {
    try {
      for (Optional<String> line; (line = parent.next()).isPresent(); ) {
        switch (line.get()) {
          case GO, GROW, GAUGE -> whileIdle.add(line.get());
          default -> command = code(line.get());
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
    boolean idle = false;
    while (true) {
      try {
        if (idle) {
          idle();
          idle = false;
        }
        agree();
        if (sum() == code(END)) {
          say("done");
          return;
        }
        say("idle");
        idle = true;
      } catch (RankFailedException e) {
        say("lost " + now() + " " + e.worldRank() + " " + e.verdict());
        idle = false;
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

  /** Does as it is told until it is to go on. */
  private void idle() throws InterruptedException {
    while (true) {
      switch (whileIdle.take()) {
        case GAUGE -> gauge();
        case GROW -> {
          if (grow()) {
            return;
          }
        }
        default -> {
          return;
        }
      }
    }
  }

  private boolean grow() {
    long next = next();
    try {
      enter(group.grow());
    } catch (JoinException e) {
      say("ungrown " + now() + " " + e.getMessage());
      return false;
    }
    first = next;
    say("grown " + now());
    return true;
  }

  private void gauge() {
    System.gc();
    Runtime heap = Runtime.getRuntime();
    long buffers =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .mapToLong(BufferPoolMXBean::getMemoryUsed)
            .sum();
    long files =
        ManagementFactory.getOperatingSystemMXBean()
                instanceof com.sun.management.UnixOperatingSystemMXBean unix
            ? unix.getOpenFileDescriptorCount()
            : 0;
    say(
        "gauge "
            + (heap.totalMemory() - heap.freeMemory())
            + " "
            + buffers
            + " "
            + ManagementFactory.getThreadMXBean().getThreadCount()
            + " "
            + files);
  }

  /** The number of the next payload. */
  private long next() {
    return first + Math.max(0, group.nextSequence() - before);
  }

  /** In a world that has just met: from which payload on to sum. */
  private void agree() {
    if (before == 1 && group.nextSequence() == 0) {
      long[] greatest = {first};
      group.allReduce(greatest, ReduceOp.MAX);
      first = greatest[0];
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
    first += Math.max(0, survivors.resumeAt() - before);
    // Whoever was lost before all had agreed leaves that to be done again.
    before = survivors.resumeAt() < before ? 1 : 0;
    group = survivors.group();
    right = 0;
    shrunken = true;
    String lost = survivors.lost().toString().replaceAll("[\\[\\] ]", "");
    say("shrunk " + now() + " " + group.size() + " " + lost);
    return true;
  }

  /** Sums until a command has arrived by a sum; no call is under way then. */
  private int sum() {
    long next = next();
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
      handle = group.async().allReduce(inputPayload, outputPayload, ReduceOp.SUM);
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
