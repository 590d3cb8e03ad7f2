package io.collectives;

import java.util.List;
import java.util.Locale;

/**
 * The choice of {@link Algorithm#auto} for an all-reduce, its reason, and its cost.
 *
 * @param bytes the length of each rank's payload in memory
 * @param ranks the number of ranks in the group
 * @param chosen the algorithm that {@code auto} takes
 * @param reason the row of the table that says so
 * @param cost the bytes that the chosen algorithm sends, and the memory that the library takes
 * @param tuned whether {@link Communicator#tune()} has measured the group
 * @param transports the names of the transports between this rank and the others of the job, such
 *     as {@code shm} and {@code tcp}
 */
public record Explanation(
    long bytes,
    int ranks,
    Algorithm chosen,
    Reason reason,
    Cost cost,
    boolean tuned,
    List<String> transports) {

  /**
   * The reason why {@code auto} takes an algorithm.
   *
   * @param asked the algorithm of the view that was asked: {@code auto}, or one that overrules it
   * @param row the row of the table that says so, as it is written there
   * @param source where the row comes from: {@code the shipped table}, the variable or file that it
   *     was read from and the line, or {@code tune()} with the time and what was measured
   */
  public record Reason(Algorithm asked, String row, String source) {}

  /**
   * The bytes that an algorithm sends, and the memory that the library takes.
   *
   * @param wireType the type to which elements are converted for sending
   * @param sentBytes the number of bytes that this rank sends with the chosen algorithm, after
   *     conversion to the wire type and without headers. Where ranks share memory, nothing is
   *     copied for that unless elements are {@linkplain WireType narrow}
   * @param frameLength the most bytes of a frame, which cuts longer payloads into slabs; see {@link
   *     CallSettings#frameLength()}
   * @param libraryBytes the most memory that the library takes for frames and links of the whole
   *     job at this rank, in bytes, beside what reduce-scatters and the like keep (see {@link
   *     Communicator}); work memory of all-reduces is none
   * @param offHeapSums by what memory outside the heap is summed: vectors, or copies to arrays and
   *     the reason
   */
  public record Cost(
      WireType wireType, long sentBytes, int frameLength, long libraryBytes, String offHeapSums) {}

  /** Keeps a copy of the list. */
  public Explanation {
    transports = List.copyOf(transports);
  }

  /** Returns some lines for people. */
  @Override
  public String toString() {
    return String.format(
            Locale.ROOT,
            "all-reduce of %,d bytes by %d ranks: %s, in frames of at most %,d bytes%n",
            bytes,
            ranks,
            chosen.name(),
            cost.frameLength)
        + String.format("row: %s%nfrom: %s%n", reason.row, reason.source)
        + String.format(
            "asked for: %s; the group is %s%n", reason.asked.name(), tuned ? "tuned" : "not tuned")
        + String.format(
            Locale.ROOT,
            "elements cross %s: this rank sends %,d bytes%n",
            cost.wireType,
            cost.sentBytes)
        + String.format("transports: %s%n", String.join(", ", transports))
        + String.format("memory outside the heap is summed by %s%n", cost.offHeapSums)
        + String.format(
            Locale.ROOT, "memory of the library: at most %,d bytes%n", cost.libraryBytes);
  }
}
