package io.collectives.bench.status;

import io.collectives.bench.status.RankAnswer.InCall;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * Several looks at a job, one after the other. What is the same at all of them lasts, and a rank
 * that is late now and then is so at some.
 *
 * @param run the first digits of the job's epoch
 * @param looks at least one
 * @param stacks by rank: answers with stacks of ranks that kept others waiting when they gave them
 */
public record Observation(String run, List<Look> looks, Map<Integer, RankAnswer> stacks) {
  /**
   * The shortest wait that counts, in microseconds: the answers of ranks are not of the same
   * moment.
   */
  static final long SHORTEST_WAIT = 2_000;

  private static final int MOST_THREADS = 64;

  /** Keeps copies of the list and of the map. */
  public Observation {
    looks = List.copyOf(looks);
    stacks = new TreeMap<>(stacks);
  }

  /**
   * Looks at a job. It was asked once more before, as the first answer of a rank takes longer: its
   * JVM loads classes for it.
   *
   * @param count how often
   * @param pause between two looks
   */
  public static Observation of(JobRanks job, int count, Duration pause)
      throws InterruptedException {
    Map<Integer, Endpoint> ranks = new TreeMap<>(job.endpoints());
    Map<Integer, String> silent = new TreeMap<>();
    Map<Integer, RankAnswer> stacks = new TreeMap<>();
    List<Look> looks = new ArrayList<>();
    ExecutorService threads =
        Executors.newFixedThreadPool(Math.min(MOST_THREADS, ranks.size()), Observation::thread);
    try {
      silent.putAll(Look.at(ranks, threads).silent());
      ranks.keySet().removeAll(silent.keySet());
      for (int i = 0; i < count; i++) {
        if (i > 0) {
          Thread.sleep(pause.toMillis());
        }
        Look look = Look.at(ranks, threads);
        silent.putAll(look.silent());
        ranks.keySet().removeAll(silent.keySet()); // So that it is waited for once only.
        look = new Look(look.nanos(), look.answers(), withMissing(silent, look));
        looks.add(look);
        takeStacks(look, ranks, stacks);
      }
    } finally {
      threads.shutdownNow();
    }
    return new Observation(job.run(), looks, stacks);
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "status");
    thread.setDaemon(true);
    return thread;
  }

  private static Map<Integer, String> withMissing(Map<Integer, String> silent, Look look) {
    Map<Integer, String> all = new TreeMap<>(silent);
    for (RankAnswer answer : look.answers().values()) {
      for (int rank = 0; rank < answer.place().size(); rank++) {
        if (!look.answers().containsKey(rank)) {
          all.putIfAbsent(
              rank,
              " has no status socket where the others have theirs: it does not run any more, or"
                  + " runs elsewhere, or was told to answer nobody");
        }
      }
      break; // All say the same.
    }
    return all;
  }

  /** Asks ranks that keep others waiting for their stacks, which count if they still do. */
  private static void takeStacks(
      Look look, Map<Integer, Endpoint> ranks, Map<Integer, RankAnswer> stacks) {
    for (Chain chain : look.chains()) {
      int rank = chain.last();
      RankAnswer before = look.answers().get(rank);
      if (!counts(chain) || before == null || stacks.containsKey(rank)) {
        continue;
      }
      try {
        RankAnswer after = Look.ask(ranks.get(rank), rank, "stacks");
        if (isUnchanged(before, after)) {
          stacks.put(rank, after);
        }
      } catch (IOException e) {
        // The next look tells.
      }
    }
  }

  private static boolean isUnchanged(RankAnswer before, RankAnswer after) {
    return begun(before) == begun(after) && number(before.oldest()) == number(after.oldest());
  }

  private static long begun(RankAnswer answer) {
    return answer.groups().stream().mapToLong(RankAnswer.Group::begun).sum();
  }

  private static long number(@Nullable InCall call) {
    return call == null ? -1 : call.call().sequence();
  }

  private static boolean counts(Chain chain) {
    return chain.blames() && chain.micros() >= SHORTEST_WAIT;
  }

  /** The first look. */
  public Look first() {
    return looks.get(0);
  }

  /** The last look. */
  public Look last() {
    return looks.get(looks.size() - 1);
  }

  /** The time between the first and the last look. */
  public long nanos() {
    return last().nanos() - first().nanos();
  }

  /** Returns the ranks that kept others waiting, the worst first. */
  public List<Culprit> culprits() {
    Map<Integer, List<Chain>> worst = new TreeMap<>();
    Map<Integer, Integer> counts = new HashMap<>();
    for (Look look : looks) {
      Map<Integer, List<Chain>> ends = new TreeMap<>();
      for (Chain chain : look.chains()) {
        if (counts(chain) && (chain.end() != Chain.End.CIRCLE || isSteady(chain))) {
          ends.computeIfAbsent(chain.last(), rank -> new ArrayList<>()).add(chain);
        }
      }
      ends.forEach(
          (rank, chains) -> {
            counts.merge(rank, 1, Integer::sum);
            worst.merge(rank, chains, (one, other) -> longest(other) > longest(one) ? other : one);
          });
    }
    List<Culprit> culprits = new ArrayList<>();
    worst.forEach(
        (rank, chains) -> {
          Chain longest = chains.get(0);
          List<Integer> waiting = new ArrayList<>();
          for (Chain chain : chains) {
            waiting.add(chain.start());
            longest = chain.micros() > longest.micros() ? chain : longest;
          }
          int seen = counts.getOrDefault(rank, 0);
          boolean steady = seen == looks.size() && isSteady(longest);
          culprits.add(new Culprit(rank, seen, longest, waiting, steady));
        });
    culprits.sort(
        Comparator.comparing(Culprit::looks)
            .thenComparing(culprit -> culprit.longest().micros())
            .reversed());
    return culprits;
  }

  private static long longest(List<Chain> chains) {
    return chains.stream().mapToLong(Chain::micros).max().orElse(0);
  }

  /**
   * Returns whether a rank waited in the same call at all looks; for a circle, whether all of its
   * ranks did: the answers of one look are not of the same moment, so what goes on may look like a
   * circle.
   */
  private boolean isSteady(Chain chain) {
    int ranks = chain.end() == Chain.End.CIRCLE ? chain.waits().size() : 1;
    for (int i = 0; i < ranks; i++) {
      InCall call = chain.waits().get(i);
      for (Look look : looks) {
        RankAnswer answer = look.answers().get(chain.ranks().get(i));
        InCall then = answer == null ? null : answer.oldest();
        if (then == null
            || !then.group().id().equals(call.group().id())
            || then.call().sequence() != call.call().sequence()) {
          return false;
        }
      }
    }
    return looks.size() > 1;
  }

  /**
   * Returns the bytes that a rank has sent in a second.
   *
   * @return no number if it did not answer at the first or the last look, or there was but one
   */
  public double sentPerSecond(int rank) {
    return perSecond(sent(first(), rank), sent(last(), rank));
  }

  /** Returns the bytes that have come to a rank in a second, likewise. */
  public double receivedPerSecond(int rank) {
    return perSecond(received(first(), rank), received(last(), rank));
  }

  /** Returns the bytes that a rank has sent to a peer in a second, likewise. */
  public double sentPerSecond(int rank, int peer) {
    return perSecond(sent(first(), rank, peer), sent(last(), rank, peer));
  }

  /** Returns the calls that a rank has begun in a second, likewise. */
  public double callsPerSecond(int rank) {
    RankAnswer before = first().answers().get(rank);
    RankAnswer after = last().answers().get(rank);
    return perSecond(before == null ? -1 : begun(before), after == null ? -1 : begun(after));
  }

  /** Returns the part of the time that a rank has spent on collecting garbage, from 0 to 1. */
  public double collecting(int rank) {
    RankAnswer before = first().answers().get(rank);
    RankAnswer after = last().answers().get(rank);
    return before == null || after == null || nanos() <= 0
        ? Double.NaN
        : 1e6 * (after.memory().collectionMillis() - before.memory().collectionMillis()) / nanos();
  }

  /** Returns the processors that a rank has used, on average. */
  public double processors(int rank) {
    RankAnswer before = first().answers().get(rank);
    RankAnswer after = last().answers().get(rank);
    return before == null || after == null || nanos() <= 0
        ? Double.NaN
        : 1e6 * (after.process().processorMillis() - before.process().processorMillis()) / nanos();
  }

  private double perSecond(long before, long after) {
    return before < 0 || after < 0 || nanos() <= 0 ? Double.NaN : (after - before) * 1e9 / nanos();
  }

  private static long sent(Look look, int rank) {
    RankAnswer answer = look.answers().get(rank);
    return answer == null
        ? -1
        : answer.links().stream().mapToLong(RankAnswer.Link::bytesSent).sum();
  }

  private static long received(Look look, int rank) {
    RankAnswer answer = look.answers().get(rank);
    return answer == null
        ? -1
        : answer.links().stream().mapToLong(RankAnswer.Link::bytesReceived).sum();
  }

  private static long sent(Look look, int rank, int peer) {
    RankAnswer answer = look.answers().get(rank);
    return answer == null
        ? -1
        : answer.links().stream()
            .filter(link -> link.peer() == peer)
            .mapToLong(RankAnswer.Link::bytesSent)
            .sum();
  }

  /** Returns the answer of any rank at the last look, null if none answered. */
  public @Nullable RankAnswer any() {
    return last().answers().values().stream().filter(Objects::nonNull).findFirst().orElse(null);
  }
}
