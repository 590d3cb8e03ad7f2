package io.collectives.bench.chaos;

import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Whom a rank that could not join names. That error is for people and has no field for it; this
 * reads its first words, which must name nobody else.
 *
 * @param culprits the ranks that it names; none if it names nobody
 * @param hadCome whether it says that they had been there and were lost
 */
record JoinFailure(Set<Integer> culprits, boolean hadCome) {
  /** The message of a rank that waited for others, or that it got. */
  private static final Pattern OTHERS =
      Pattern.compile(
          "ranks? (?<absent>\\d+(, \\d+)*) ha(s|ve) not come to .*"
              + "|rank (?<lost>\\d+) \\(.*?\\) came to .* and was lost: .*"
              + "|rank (?<host>0) of job .* was met by rank \\d+ .* and was lost: .*");

  /** The message of a rank that met no other one, because it waited for rank 0. */
  private static final Pattern NOBODY = Pattern.compile("rank \\d+ of job .* met nobody at .*");

  /** Reads the message of a {@link io.collectives.JoinException}. */
  static JoinFailure parse(String message) {
    Matcher matcher = OTHERS.matcher(message);
    if (matcher.matches()) {
      boolean absent = matcher.group("absent") != null;
      String named =
          absent
              ? matcher.group("absent")
              : matcher.group("lost") != null ? matcher.group("lost") : matcher.group("host");
      return new JoinFailure(
          Arrays.stream(named.split(", "))
              .map(Integer::valueOf)
              .collect(Collectors.toCollection(TreeSet::new)),
          !absent);
    }
    return new JoinFailure(NOBODY.matcher(message).matches() ? Set.of(0) : Set.of(), false);
  }
}
