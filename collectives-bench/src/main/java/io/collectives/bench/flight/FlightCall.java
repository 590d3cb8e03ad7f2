package io.collectives.bench.flight;

import java.util.List;
import java.util.OptionalLong;

/**
 * A call as one rank remembers it.
 *
 * @param group the number of the group, in hexadecimal digits
 * @param members the world ranks of the group, in the order of their ranks in it
 * @param state {@code queued}, {@code running}, {@code done} or {@code failed}
 * @param begunMillis since 1970, by the rank's clock
 * @param endedMillis the same; empty if it has not ended
 * @param detail for whom it waits, or why it failed; may be empty
 */
public record FlightCall(
    String group,
    List<Integer> members,
    long sequence,
    String collective,
    String algorithm,
    String op,
    String type,
    long count,
    String state,
    long begunMillis,
    OptionalLong endedMillis,
    String detail) {

  /** Keeps a copy of the list. */
  public FlightCall {
    members = List.copyOf(members);
  }

  /** Returns what all ranks of the group must say alike of it, for people. */
  public String fingerprint() {
    return collective.equals("barrier")
        ? "barrier by " + algorithm
        : collective + " of " + count + " " + type + ", " + op + ", by " + algorithm;
  }
}
