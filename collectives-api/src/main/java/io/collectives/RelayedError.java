package io.collectives;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Conversions between the error of one group and the reason for which a rank aborts other groups.
 * With them all ranks get the same error, whichever of several groups they wait in. A {@link
 * BufferReduction} of several groups uses them.
 */
public final class RelayedError {
  private static final Pattern TEXT =
      Pattern.compile(
          "gradients are not reduced \\((dead|unresponsive|late|mismatch|aborted) (-?\\d+)\\):"
              + " (.*)",
          Pattern.DOTALL);

  private RelayedError() {}

  /** Returns an error as a reason to {@linkplain Communicator#abort abort} other groups. */
  public static String reason(CollectiveException error) {
    String kind = "aborted";
    int rank = -1;
    if (error instanceof RankFailedException failed) {
      kind = failed.verdict().name().toLowerCase(Locale.ROOT);
      rank = failed.worldRank();
    } else if (error instanceof CallTimeoutException late) {
      kind = "late";
      rank = late.worldRank();
    } else if (error instanceof MismatchException) {
      kind = "mismatch";
    } else if (error instanceof AbortedException aborted) {
      rank = aborted.worldRank();
    }
    return "gradients are not reduced (" + kind + " " + rank + "): " + error.getMessage();
  }

  /**
   * Returns the error for which another rank has aborted a group, or the given error if it contains
   * no other one.
   */
  public static CollectiveException original(CollectiveException error) {
    Matcher text = TEXT.matcher(String.valueOf(error.getMessage()));
    if (!(error instanceof AbortedException aborted) || !text.find()) {
      return error;
    }
    int rank = Integer.parseInt(text.group(2));
    String message = text.group(3);
    return switch (text.group(1)) {
      case "dead" -> new RankFailedException(message, rank, RankFailedException.Verdict.DEAD);
      case "unresponsive" ->
          new RankFailedException(message, rank, RankFailedException.Verdict.UNRESPONSIVE);
      case "late" -> new CallTimeoutException(message, rank);
      case "mismatch" -> new MismatchException(message);
      default -> new AbortedException(message, rank < 0 ? aborted.worldRank() : rank);
    };
  }
}
