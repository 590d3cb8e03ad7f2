package io.collectives.bench.status;

import io.collectives.bench.report.Scale;
import io.collectives.bench.report.Units;
import io.collectives.bench.status.RankAnswer.Call;
import io.collectives.bench.status.RankAnswer.EndedCall;
import io.collectives.bench.status.RankAnswer.InCall;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Says in sentences what an observation of a job means, the most important first. */
public final class Findings {
  private static final int MOST_CULPRITS = 3;
  private static final int LEAST_PART = 4;
  private static final int MOST_RANKS = 8;
  private static final double MUCH_COLLECTING = 0.15;
  private static final double FEW_PROCESSORS = 0.1;
  private static final double MANY_PROCESSORS = 0.7;
  private static final long LONG_MICROS = 1_000_000;
  private static final long CHANCE_MICROS = 250_000;

  private final Observation job;
  private final List<String> sentences = new ArrayList<>();

  private Findings(Observation job) {
    this.job = job;
  }

  /** The sentences. */
  public static List<String> of(Observation job) {
    Findings findings = new Findings(job);
    findings.silent();
    findings.broken();
    List<Culprit> told = told(job);
    boolean circle = false;
    for (Culprit culprit : told) {
      if (culprit.longest().end() != Chain.End.CIRCLE) {
        findings.culprit(culprit);
      } else if (!circle) {
        findings.circle(culprit.longest());
        circle = true;
      }
    }
    findings.collecting(told);
    if (told.isEmpty()) {
      findings.nobody();
    }
    return findings.sentences;
  }

  /**
   * Returns the ranks that kept others waiting and are worth a sentence, the worst first. What was
   * seen at one of many looks, and did not last, is chance.
   */
  public static List<Culprit> told(Observation job) {
    List<Culprit> told = new ArrayList<>();
    for (Culprit culprit : job.culprits()) {
      boolean isChance =
          culprit.looks() == 1
              && job.looks().size() >= LEAST_PART
              && culprit.longest().micros() < CHANCE_MICROS;
      boolean isFrequent = culprit.looks() * LEAST_PART >= job.looks().size();
      if (!isChance && (told.isEmpty() || isFrequent && told.size() < MOST_CULPRITS)) {
        told.add(culprit);
      }
    }
    return told;
  }

  private void silent() {
    job.last().silent().forEach((rank, why) -> sentences.add("Rank " + rank + why + "."));
  }

  private void broken() {
    Set<String> reasons = new LinkedHashSet<>();
    for (RankAnswer answer : job.last().answers().values()) {
      for (RankAnswer.Group group : answer.groups()) {
        if (group.broken()) {
          reasons.add(name(group) + " is broken, no call can be made in it: " + group.detail());
        }
      }
    }
    reasons.stream().limit(MOST_CULPRITS).forEach(sentences::add);
  }

  private void culprit(Culprit culprit) {
    Chain longest = culprit.longest();
    InCall waits = longest.waits().get(0);
    int rank = culprit.rank();
    StringBuilder text = new StringBuilder("Rank ").append(rank);
    if (culprit.isSteady()) {
      text.append(" keeps the others waiting: ").append(ranks(culprit.waiting()));
      text.append(culprit.waiting().size() == 1 ? " waits" : " wait").append(" in ");
      text.append(call(waits)).append(", for ").append(time(longest.micros())).append(" by now");
    } else {
      text.append(" keeps the others waiting again and again (seen at ").append(culprit.looks());
      text.append(" of ").append(job.looks().size()).append(" looks): ");
      text.append(ranks(culprit.waiting())).append(" had waited for ");
      text.append(time(longest.micros())).append(" in ").append(call(waits));
    }
    text.append(culprit.isSteady() ? ", and rank " : " while rank ").append(rank).append(' ');
    text.append(doing(longest, job.last().answers().get(rank), culprit.isSteady())).append('.');
    if (longest.ranks().size() > 2) {
      text.append(' ').append(chain(longest));
    }
    text.append(hint(rank));
    sentences.add(text.toString());
  }

  private static String doing(Chain chain, @Nullable RankAnswer answer, boolean now) {
    String is = now ? "is" : "was";
    return switch (chain.end()) {
      case SILENT -> "does not answer";
      case BUSY ->
          is
              + " in a call in which one of its threads has kept the engine for itself for more"
              + " than "
              + (answer == null ? 1_000 : answer.busyMillis())
              + " ms, as an operation of the user's own may do";
      case BEHIND ->
          is
              + " in "
              + call(chain.waits().get(chain.waits().size() - 1))
              + ", for which the rank that it waits for has done its part: what that has sent is on"
              + " its way, or rank "
              + chain.last()
              + " does not get to take it";
      default -> is + " in no call" + last(answer, now);
    };
  }

  private static String last(@Nullable RankAnswer answer, boolean now) {
    EndedCall last = answer == null || !now ? null : answer.lastEnded();
    if (answer != null && now && last == null) {
      return " and has made none yet";
    }
    return last == null
        ? ""
        : "; its last one, "
            + last.collective()
            + " #"
            + last.sequence()
            + ", ended "
            + time(last.sinceMicros())
            + " ago";
  }

  private static String chain(Chain chain) {
    StringBuilder text = new StringBuilder("The chain: rank ").append(chain.start());
    text.append(" waits for rank ").append(chain.ranks().get(1));
    for (int i = 2; i < chain.ranks().size(); i++) {
      text.append(", which waits for rank ").append(chain.ranks().get(i));
    }
    return text.append('.').toString();
  }

  private String hint(int rank) {
    double collecting = job.collecting(rank);
    double processors = job.processors(rank);
    if (collecting >= MUCH_COLLECTING) {
      return " " + collectingText(rank);
    }
    if (Double.isNaN(processors)) {
      return "";
    }
    String used =
        String.format(
            Locale.ROOT,
            " Its process used %.0f %% of a processor in the %s that it was looked at",
            100 * processors,
            Units.time(job.nanos()));
    if (processors < FEW_PROCESSORS) {
      return used + ": it sleeps, or waits for something outside of the library.";
    }
    return processors > MANY_PROCESSORS ? used + ": it computes." : used + ".";
  }

  private String collectingText(int rank) {
    RankAnswer answer = job.last().answers().get(rank);
    return String.format(
        Locale.ROOT,
        "It spends %.0f %% of its time on garbage collection%s: it needs a larger heap (-Xmx), or to"
            + " allocate less.",
        100 * Math.min(1, job.collecting(rank)),
        answer == null || answer.memory().heapLimit() <= 0
            ? ""
            : ", with "
                + mebibytes(answer.memory().heapUsed())
                + " of a heap of "
                + mebibytes(answer.memory().heapLimit())
                + " MiB in use");
  }

  private static String mebibytes(long bytes) {
    return Units.grouped(bytes >> 20);
  }

  private void collecting(List<Culprit> told) {
    for (int rank : job.last().answers().keySet()) {
      boolean isTold = told.stream().anyMatch(culprit -> culprit.rank() == rank);
      if (!isTold && job.collecting(rank) >= MUCH_COLLECTING) {
        sentences.add("Rank " + rank + ": " + collectingText(rank));
      }
    }
  }

  private void circle(Chain chain) {
    StringBuilder text = new StringBuilder("Ranks wait for each other in a circle, for good: ");
    int first =
        chain.ranks().indexOf(chain.last()); // Before it are ranks that wait for the circle.
    for (int i = first; i < chain.ranks().size() - 1; i++) {
      text.append(i == first ? "rank " : ", rank ").append(chain.ranks().get(i));
      text.append(" in ").append(call(chain.waits().get(i)));
      text.append(" for rank ").append(chain.ranks().get(i + 1));
    }
    text.append(
        ". They make calls of several groups in different orders; all must make those that");
    sentences.add(text.append(" they share in the same order.").toString());
  }

  private void nobody() {
    Collection<RankAnswer> answers = job.last().answers().values();
    if (answers.isEmpty()) {
      return;
    }
    double calls =
        answers.stream()
            .mapToDouble(answer -> job.callsPerSecond(answer.rank()))
            .filter(Double::isFinite)
            .max()
            .orElse(Double.NaN);
    Chain longest = null;
    for (Chain chain : job.last().chains()) {
      longest = longest == null || chain.micros() > longest.micros() ? chain : longest;
    }
    if (calls > 0) {
      sentences.add(
          "Nobody keeps the others waiting for long: calls go on, "
              + Units.ratio(calls, 0)
              + " a second at each rank.");
    } else if (longest != null && longest.micros() > LONG_MICROS) {
      double moved =
          answers.stream().mapToDouble(answer -> job.receivedPerSecond(answer.rank())).sum();
      sentences.add(
          "All that are awaited are in "
              + call(longest.waits().get(0))
              + " as well, for "
              + time(longest.micros())
              + " by now, and "
              + (moved > 0
                  ? "its data moves, " + Units.rate(moved / 1e9) + " for all ranks together."
                  : "nothing has moved for " + Units.time(job.nanos()) + "."));
    } else if (longest == null) {
      long since = Long.MAX_VALUE;
      for (RankAnswer answer : answers) {
        EndedCall last = answer.lastEnded();
        since = last == null ? since : Math.min(since, last.sinceMicros());
      }
      sentences.add(
          "No rank is in a call; "
              + (since == Long.MAX_VALUE
                  ? "none has been made yet."
                  : "the last one ended " + time(since) + " ago."));
    } else {
      sentences.add("Nobody keeps the others waiting for long.");
    }
  }

  /** For people: a call with its size and algorithm. */
  public static String call(InCall in) {
    Call call = in.call();
    String name =
        call.operation().collective()
            + " #"
            + call.sequence()
            + (call.operation().bytes() > 0
                ? " of " + Scale.Unit.BYTES.label(call.operation().bytes(), 3)
                : "");
    return in.group().members() == null ? name : name + " of " + ofGroup(in.group());
  }

  private static String name(RankAnswer.Group group) {
    return group.members() == null
        ? "The group of all ranks"
        : "The " + ofGroup(group).substring("the ".length());
  }

  private static String ofGroup(RankAnswer.Group group) {
    List<Integer> members = group.members();
    return "the group of " + ranks(members == null ? List.of() : members);
  }

  /** For people: {@code ranks 0, 1 and 3}. */
  public static String ranks(Collection<Integer> which) {
    List<Integer> ranks = new ArrayList<>(new TreeSet<>(which));
    if (ranks.size() == 1) {
      return "rank " + ranks.get(0);
    }
    if (ranks.size() > MOST_RANKS) {
      return Units.grouped(ranks.size())
          + " ranks, from "
          + ranks.get(0)
          + " to "
          + ranks.get(ranks.size() - 1)
          + ",";
    }
    StringBuilder text = new StringBuilder("ranks ");
    for (int i = 0; i < ranks.size(); i++) {
      text.append(i == 0 ? "" : i == ranks.size() - 1 ? " and " : ", ").append(ranks.get(i));
    }
    return text.toString();
  }

  private static String time(long micros) {
    return Units.time(micros * 1e3);
  }

  /** Returns how many ranks use which transport to each other, for people. */
  public static String transports(Observation job) {
    TreeMap<String, Integer> pairs = new TreeMap<>();
    for (RankAnswer answer : job.last().answers().values()) {
      for (RankAnswer.Link link : answer.links()) {
        boolean isOther = job.last().answers().containsKey(link.peer());
        if (link.peer() > answer.rank() || !isOther) {
          pairs.merge(link.transport(), 1, Integer::sum);
        }
      }
    }
    StringBuilder text = new StringBuilder();
    pairs.forEach(
        (name, count) ->
            text.append(text.length() == 0 ? "" : ", ")
                .append(name.isEmpty() ? "unknown" : name)
                .append(pairs.size() == 1 ? "" : " between " + count + " pairs"));
    return text.toString();
  }
}
