import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A Java library's side of {@code collectives compare}: one rank. It reads lines from standard input, {@code warm-up
 * COUNT NANOS} or {@code measure COUNT NANOS}, the same on all ranks, and answers each with a line that begins with
 * {@code peer}. A barrier precedes each iteration and is not timed; the time of an iteration is that of the slowest
 * rank; the first result is checked.
 */
abstract class AllReducePeer {
  private static final int LEAST = 9;
  private static final int MOST = 100_000;
  private static final long GRACE_MILLIS = 5_000;
  private static final String END = "";

  /** Gives element i of each rank the value {@code i % 13 + rank}. */
  abstract void fill(int count) throws Exception;

  /** Sums what was filled in, over all ranks. */
  abstract void allReduce() throws Exception;

  /** What the last sum was; one that is in place goes on with its result. */
  abstract float[] result() throws Exception;

  abstract void barrier() throws Exception;

  /** Of every value the greatest that any rank gave. */
  abstract float[] greatest(float[] values) throws Exception;

  abstract int rank();

  abstract int size();

  /** Works until standard input ends. */
  final void serve() throws Exception {
    BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    Thread reader = new Thread(() -> read(lines), "lines");
    reader.setDaemon(true);
    reader.start();
    answer("ready");
    for (String line; !(line = lines.take()).equals(END); ) {
      String[] words = line.split(" ");
      int count = Integer.parseInt(words[1]);
      long nanos = Long.parseLong(words[2]);
      answer(words[0].equals("measure") ? measure(count, nanos) : warmUp(count, nanos));
    }
  }

  /** Whoever is not gone soon after its parent halts. */
  private static void read(BlockingQueue<String> lines) {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line; (line = in.readLine()) != null; ) {
        lines.add(line);
      }
    } catch (IOException e) {
      // As if it had ended.
    }
    lines.add(END);
    try {
      Thread.sleep(GRACE_MILLIS);
    } catch (InterruptedException e) {
      // Halt at once.
    }
    Runtime.getRuntime().halt(1);
  }

  private static void answer(String text) {
    System.out.println("peer " + text);
    System.out.flush();
  }

  private String warmUp(int count, long limit) throws Exception {
    fill(count);
    long start = System.nanoTime();
    int batch = 3;
    do {
      timed(batch);
      batch = Math.min(2 * batch, 1_000);
    } while (rankZeroSays(System.nanoTime() - start < limit ? 1 : 0) == 1);
    return "ready";
  }

  private String measure(int count, long limit) throws Exception {
    fill(count);
    allReduce();
    float wrong = 0;
    float[] result = result();
    for (int i = 0; i < count; i++) {
      wrong += result[i] == size() * (i % 13) + size() * (size() - 1) / 2 ? 0 : 1;
    }
    int first = count < 100_000 ? 30 : 3;
    long start = System.nanoTime();
    timed(first);
    long each = Math.max(1, (System.nanoTime() - start) / first);
    float[] nanos = timed(rankZeroSays((int) Math.max(LEAST, Math.min(MOST, limit / each))));
    float[] slowest = greatest(nanos);
    Arrays.sort(slowest);
    return slowest.length
        + " "
        + percentile(slowest, 50)
        + " "
        + (long) slowest[0]
        + " "
        + percentile(slowest, 99)
        + " "
        + (long) greatest(new float[] {wrong})[0]
        + " -";
  }

  private float[] timed(int iterations) throws Exception {
    float[] nanos = new float[iterations];
    for (int i = 0; i < iterations; i++) {
      barrier();
      long start = System.nanoTime();
      allReduce();
      nanos[i] = System.nanoTime() - start;
    }
    return nanos;
  }

  private int rankZeroSays(int value) throws Exception {
    return (int) greatest(new float[] {rank() == 0 ? value : 0})[0];
  }

  /** The least value that is not exceeded by {@code percent} of all. */
  private static long percentile(float[] sorted, int percent) {
    return (long) sorted[(int) (((long) sorted.length * percent + 99) / 100 - 1)];
  }

  /** A number of the environment. */
  static int number(String variable) {
    return Integer.parseInt(System.getenv(variable));
  }
}
