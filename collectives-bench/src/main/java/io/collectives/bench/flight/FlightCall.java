package io.collectives.bench.flight;

import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A call as one rank remembers it.
 *
 * @param group the number of the group, in hexadecimal digits
 * @param members the world ranks of the group, in the order of their ranks in it
 * @param sequence the number of the call in its group
 * @param operation what is called, which all ranks of the group must say alike
 * @param progress how far the rank has come with it
 * @param site where in its program the rank made the call; empty if that is not recorded
 */
public record FlightCall(
    String group,
    List<Integer> members,
    long sequence,
    Operation operation,
    Progress progress,
    String site) {

  /** The operation of a call, with its algorithm and payload. */
  public record Operation(String collective, String algorithm, String op, String type, long count) {

    /** Returns the operation in words for people. */
    @Override
    public String toString() {
      return collective.equals("barrier")
          ? "barrier by " + algorithm
          : collective + " of " + count + " " + type + ", " + op + ", by " + algorithm;
    }
  }

  /**
   * The progress of a call at one rank.
   *
   * @param state {@code queued}, {@code running}, {@code done} or {@code failed}
   * @param begunMillis when it began, since 1970, by the rank's clock
   * @param endedMillis when it ended, likewise; empty if it has not ended
   * @param detail for whom it waits, or why it failed; may be empty
   * @param awaited the rank that it waits for, or for want of which it failed; empty if there is
   *     none, or the record does not tell
   */
  public record Progress(
      String state,
      long begunMillis,
      OptionalLong endedMillis,
      String detail,
      OptionalInt awaited) {}

  /** Keeps a copy of the list. */
  public FlightCall {
    members = List.copyOf(members);
  }
}
