package io.collectives.bench.chaos;

import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.Fault.Phase;
import io.collectives.bench.chaos.FaultOutcome.Counts;
import io.collectives.bench.chaos.FaultOutcome.Stage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * A job that goes through many faults, also several at once. After each round of them the survivors
 * sum without the ranks that were hit; then new processes can take their ranks.
 *
 * <p>The survivors of a round must tell the same story: each error must name the same rank on all
 * of them, a rank that was hit, and each group that is left must lack the same ranks. In the end
 * all that were hit must be lost, and nobody else. A rank that was stopped must find, continued,
 * that it is given up, or whom of the others that were hit.
 *
 * <p>One rank, the elder, is never hit, so that what it uses tells whether a process that lives
 * through everything grows.
 *
 * <p>A job in which anything was wrong is over; {@link #complaints()} say what. To be used by one
 * thread.
 */
public final class LongRun implements AutoCloseable {
  /** A round that takes longer, and a start, hang. */
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static final int LONGEST_DELAY_MILLIS = 250;

  private final ChaosSettings settings;
  private final RandomGenerator random;
  private final ChaosJob job;
  private final int elder;
  private final Set<Integer> living = new TreeSet<>();
  private final List<String> complaints = new ArrayList<>();
  private final List<Gauge> gauges = new ArrayList<>();
  private int hangs;
  private int wrongSums;

  /**
   * The resources that the oldest rank uses while no call is under way.
   *
   * @param heap bytes that are reachable
   * @param buffers bytes beside the heap that Java knows of
   * @param threads how many
   * @param files descriptors that are open
   * @param resident bytes of memory that the process has; 0 where that cannot be told
   */
  public record Gauge(long heap, long buffers, long threads, long files, long resident) {}

  /** The report of a survivor in a round. */
  private static final class Story {
    /** Whom errors named, and what the groups lacked, in their order. */
    private final List<String> chapters = new ArrayList<>();

    private final Set<Integer> lost = new TreeSet<>();
    private final Map<Integer, Long> knownMicros = new HashMap<>();
    private int earlyAlarms;
    private long rightMicros;
    private boolean whole;
  }

  /**
   * A job of which no process is started yet.
   *
   * @param random chooses the elder and the faults
   */
  public LongRun(ChaosSettings settings, RandomGenerator random) throws IOException {
    this.settings = settings.patient();
    this.random = random;
    this.elder = random.nextInt(settings.ranks());
    this.job = new ChaosJob(this.settings, LIMIT, null, Map.of());
  }

  /** The rank that is never hit. */
  public int elder() {
    return elder;
  }

  /** Returns how many ranks sum. */
  public int living() {
    return living.size();
  }

  /** Returns what was not as it must be, for people; if there is anything, the job is over. */
  public List<String> complaints() {
    return List.copyOf(complaints);
  }

  /** Returns how many ranks did not say in time what they had to. */
  public int hangs() {
    return hangs;
  }

  /** Returns how many ranks got a wrong sum. */
  public int wrongSums() {
    return wrongSums;
  }

  /** Returns what the elder used before each time that the job grew. */
  public List<Gauge> gauges() {
    return List.copyOf(gauges);
  }

  /** Starts all ranks; whether they sum. */
  public boolean start() throws IOException {
    for (int rank = 0; rank < settings.ranks(); rank++) {
      job.start(rank);
      living.add(rank);
    }
    return each(living, "joined") && each(living, "summing");
  }

  /**
   * Draws the faults of a round. Enough ranks are left to tell that theirs is not the smaller part
   * of a network that has split, and at least two.
   *
   * @param kinds of which some hit processes
   * @param phases of which some are not {@link Phase#JOINING}
   * @param most how many at once
   * @return at least one, unless only two ranks are left
   */
  public List<Fault> draw(List<Kind> kinds, List<Phase> phases, int most) {
    List<Phase> whileRunning = phases.stream().filter(phase -> phase != Phase.JOINING).toList();
    Phase phase = whileRunning.get(random.nextInt(whileRunning.size()));
    List<Integer> victims = new ArrayList<>(living);
    victims.remove(Integer.valueOf(elder));
    int count = Math.min(most, living.size() - 2);
    List<Integer> allRanks = IntStream.range(0, settings.ranks()).boxed().toList();
    List<Fault> faults = new ArrayList<>();
    int stopped = 0;
    for (int i = 0; i < count; i++) {
      boolean mayStop = stopped + 1 < living.size() - count;
      List<Kind> possible = kinds.stream().filter(kind -> kind != Kind.STOP || mayStop).toList();
      if (possible.isEmpty()) {
        break;
      }
      Kind kind = possible.get(random.nextInt(possible.size()));
      stopped += kind == Kind.STOP ? 1 : 0;
      int victim = victims.remove(random.nextInt(victims.size()));
      faults.add(new Fault(kind, phase, victim, delay(phase, i), allRanks, List.of()));
    }
    return faults;
  }

  /** At once, soon, or about when the one before it is found out. */
  private long delay(Phase phase, int number) {
    if (phase == Phase.IDLE) {
      return 0;
    }
    int longest =
        number == 0
            ? LONGEST_DELAY_MILLIS
            : switch (random.nextInt(3)) {
              case 0 -> 1;
              case 1 -> LONGEST_DELAY_MILLIS;
              default -> (int) Math.min(60_000, settings.silenceLimit().toMillis() * 5 / 4);
            };
    return random.nextInt(longest);
  }

  /**
   * Hits ranks, and hears what becomes of the others.
   *
   * @return an outcome for each fault; complaints are at the first
   * @throws IOException if processes cannot be signalled
   */
  public List<FaultOutcome> round(List<Fault> faults) throws IOException, InterruptedException {
    job.allow(LIMIT.plus(settings.silenceLimit().multipliedBy(3L * faults.size())));
    boolean idle = faults.get(0).phase() == Phase.IDLE;
    if (idle && !drain()) {
      return List.of();
    }
    Map<Integer, Long> struck = new HashMap<>();
    for (Fault fault : faults) {
      Thread.sleep(fault.delayMillis());
      struck.put(fault.victim(), now());
      if (fault.kind() == Kind.KILL) {
        job.kill(fault.victim());
      } else {
        Signal.STOP.send(job.process(fault.victim()));
      }
    }
    if (idle) {
      for (int rank : living) {
        job.tell(rank, ChaosWorker.GO);
      }
    }
    living.removeAll(struck.keySet());
    Map<Integer, Story> stories = new HashMap<>();
    for (int rank : living) {
      stories.put(rank, hearOut(rank, struck));
    }
    Set<Integer> owning = new TreeSet<>();
    for (Fault fault : faults) {
      if (fault.kind() == Kind.STOP && wake(fault.victim(), struck)) {
        owning.add(fault.victim());
      }
    }
    return outcomes(faults, struck, stories, owning);
  }

  /** Reads until a survivor has lost all that were hit, and sums. */
  private Story hearOut(int rank, Map<Integer, Long> struck) {
    Story story = new Story();
    boolean right = false;
    try {
      while (!story.whole) {
        List<String> words = job.hear(rank);
        switch (words.get(0)) {
          case "lost" -> {
            long micros = Long.parseLong(words.get(1));
            int culprit = Integer.parseInt(words.get(2));
            story.chapters.add("lost rank " + culprit);
            known(story, culprit, micros);
            story.earlyAlarms += micros < struck.getOrDefault(culprit, Long.MAX_VALUE) ? 1 : 0;
          }
          case "shrunk" -> {
            story.chapters.add("went on without " + words.get(3));
            for (String gone : words.get(3).split(",")) {
              story.lost.add(Integer.valueOf(gone));
              known(story, Integer.parseInt(gone), Long.parseLong(words.get(1)));
            }
            right = false;
          }
          case "right" -> {
            right = true;
            story.rightMicros = Long.parseLong(words.get(1));
          }
          case "summing" -> story.whole = right && story.lost.containsAll(struck.keySet());
          default -> {
            wrongSums += words.get(0).equals("wrong") ? 1 : 0;
            complaints.add("rank " + rank + " said '" + String.join(" ", words) + "'");
            return story;
          }
        }
      }
    } catch (IOException e) {
      ended(rank, e);
    }
    return story;
  }

  private static void known(Story story, int rank, long micros) {
    story.knownMicros.merge(rank, micros, Math::min);
  }

  private void ended(int rank, IOException e) {
    boolean hung = job.hung().contains(rank);
    hangs += hung ? 1 : 0;
    complaints.add(
        hung
            ? "rank " + rank + " hangs: it did not come so far in time"
            : String.valueOf(e.getMessage()));
  }

  /**
   * Returns whether a rank that was stopped finds who was given up: it, or another that was hit.
   */
  private boolean wake(int rank, Map<Integer, Long> struck) throws IOException {
    Signal.CONT.send(job.process(rank));
    try {
      long since = struck.get(rank);
      while (true) {
        List<String> words = job.hear(rank);
        switch (words.get(0)) {
          // What it had still to say of what came before.
          case "shrunk", "right", "summing" -> {}
          case "lost" -> {
            int culprit = Integer.parseInt(words.get(2));
            if (culprit == rank) {
              return true;
            }
            if (!struck.containsKey(culprit)) {
              complaints.add("rank " + rank + ", continued, lost rank " + culprit);
              return false;
            }
            if (Long.parseLong(words.get(1)) > since && struck.size() > 1) {
              return true;
            }
          }
          default -> {
            complaints.add("rank " + rank + ", continued, said '" + String.join(" ", words) + "'");
            return false;
          }
        }
      }
    } catch (IOException e) {
      ended(rank, e);
      return false;
    } finally {
      job.kill(rank);
    }
  }

  private List<FaultOutcome> outcomes(
      List<Fault> faults,
      Map<Integer, Long> struck,
      Map<Integer, Story> stories,
      Set<Integer> owning) {
    long last = struck.values().stream().mapToLong(Long::longValue).max().orElseThrow();
    int whole = (int) stories.values().stream().filter(story -> story.whole).count();
    Set<Integer> right = judge(stories, struck.keySet());
    int alarms = stories.values().stream().mapToInt(story -> story.earlyAlarms).sum();
    List<FaultOutcome> outcomes = new ArrayList<>();
    for (Fault fault : faults) {
      int victim = fault.victim();
      boolean stopped = fault.kind() == Kind.STOP;
      int culprits = stories.size() + (stopped ? 1 : 0);
      int named = right.size() + (owning.contains(victim) ? 1 : 0);
      boolean first = outcomes.isEmpty();
      outcomes.add(
          new FaultOutcome(
              settings.site(),
              fault,
              Stage.WORKING,
              named == culprits
                  ? greatest(stories, story -> story.knownMicros.get(victim), struck.get(victim))
                  : OptionalLong.empty(),
              whole == stories.size()
                  ? greatest(stories, story -> story.rightMicros, last)
                  : OptionalLong.empty(),
              new Counts(
                  culprits,
                  named,
                  stories.size(),
                  whole,
                  first ? wrongSums : 0,
                  first ? alarms : 0,
                  first ? hangs : 0),
              first ? complaints : List.of()));
    }
    return outcomes;
  }

  private static OptionalLong greatest(
      Map<Integer, Story> stories, ToLongFunction<Story> at, long since) {
    return stories.values().stream().mapToLong(story -> at.applyAsLong(story) - since).max();
  }

  /** The survivors that named nobody but those who were hit, and the same as the others. */
  private Set<Integer> judge(Map<Integer, Story> stories, Set<Integer> hit) {
    Set<Integer> right = new TreeSet<>();
    List<String> agreed = stories.get(elder).chapters;
    stories.forEach(
        (rank, story) -> {
          if (!story.chapters.equals(agreed)) {
            complaints.add(
                "rank " + rank + " " + story.chapters + ", but rank " + elder + " " + agreed);
          } else if (!hit.containsAll(story.knownMicros.keySet())) {
            complaints.add("rank " + rank + " " + story.chapters + ", but hit were " + hit);
          } else if (story.whole) {
            right.add(rank);
          }
        });
    return right;
  }

  /** Until no call is under way. */
  private boolean drain() {
    job.tell(living.iterator().next(), ChaosWorker.DRAIN);
    return each(living, "idle");
  }

  /** Starts new processes as the ranks that were lost; returns whether all sum then. */
  public boolean grow() throws IOException {
    job.allow(LIMIT.multipliedBy(2));
    if (!drain() || !gauge()) {
      return false;
    }
    Set<Integer> survivors = Set.copyOf(living);
    Set<Integer> missing = new TreeSet<>();
    for (int rank = 0; rank < settings.ranks(); rank++) {
      if (living.add(rank)) {
        job.start(rank);
        missing.add(rank);
      }
    }
    survivors.forEach(rank -> job.tell(rank, ChaosWorker.GROW));
    return each(survivors, "grown") & each(missing, "joined") && each(living, "summing");
  }

  private boolean gauge() {
    job.tell(elder, ChaosWorker.GAUGE);
    try {
      long[] said =
          job.hear(elder, ChaosWorker.GAUGE).stream().skip(1).mapToLong(Long::parseLong).toArray();
      long resident = resident(job.process(elder).pid());
      gauges.add(new Gauge(said[0], said[1], said[2], said[3], resident));
      return true;
    } catch (IOException e) {
      ended(elder, e);
      return false;
    }
  }

  private static long resident(long pid) {
    try {
      return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
          .filter(line -> line.startsWith("VmRSS:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
          .findFirst()
          .orElse(0);
    } catch (IOException e) {
      return 0;
    }
  }

  /** Ends the job; whether all ranks ended well. */
  public boolean end() {
    job.allow(LIMIT);
    job.tell(living.iterator().next(), ChaosWorker.END);
    boolean done = each(living, "done");
    job.awaitEnd(living);
    for (int rank : job.hung()) {
      hangs++;
      complaints.add("rank " + rank + " hangs: it did not end in time");
      done = false;
    }
    return done;
  }

  /** Hears a word of each; whether all said it. */
  private boolean each(Set<Integer> ranks, String word) {
    int before = complaints.size();
    for (int rank : ranks) {
      try {
        List<String> words = job.hear(rank);
        if (!words.get(0).equals(word)) {
          wrongSums += words.get(0).equals("wrong") ? 1 : 0;
          complaints.add(
              "rank " + rank + " said '" + String.join(" ", words) + "' instead of '" + word + "'");
        }
      } catch (IOException e) {
        ended(rank, e);
      }
    }
    return complaints.size() == before;
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  @Override
  public void close() {
    job.close();
  }
}
