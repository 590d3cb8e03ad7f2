package io.collectives;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An error of one group as the reason for which its rank aborts others, and back: so that all ranks
 * get the same error, whichever of several groups they wait in. For a {@link BufferReduction} of
 * several groups.
 */
public final class RelayedError {
  private static final Pattern TEXT =
      Pattern.compile(
          "gradients are not reduced \\((dead|unresponsive|late|mismatch|aborted) (-?\\d+)\\): (.*)",
          Pattern.DOTALL);

  private RelayedError() {}

  /** An error as a reason to {@linkplain Communicator#abort abort} other groups. */
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

  /** The error that another rank has aborted a group for; the error itself if that is not so. */
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
