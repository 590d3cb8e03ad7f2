package io.collectives;

import java.util.List;
import java.util.Locale;

/**
 * How {@link Algorithm#auto} decides about an all-reduce.
 *
 * @param bytes the length of each rank's payload in memory
 * @param wireType as what its elements cross the links
 * @param sentBytes how much of the payload this rank sends with the chosen algorithm, in bytes as
 *     they cross the links and without headers. Where ranks share memory, nothing is copied for
 *     that unless elements are {@linkplain WireType narrow}
 * @param ranks the number of ranks in the group
 * @param chosen the algorithm that is predicted to take the least time
 * @param frameLength the most bytes of a frame, which cuts longer payloads into slabs; where
 *     threads share memory it may be more than the {@linkplain CallSettings#frameLength() one set},
 *     because nothing is copied into frames
 * @param predictions of all algorithms that were considered, the fastest first
 * @param costs what the predictions stand on
 * @param libraryBytes the most memory that the library takes for frames and links of the whole job
 *     at this rank, in bytes, beside what reduce-scatters and the like keep (see {@link
 *     Communicator}); work memory of all-reduces is none
 * @param transports what carries frames between this rank and the others of the job, as {@code shm}
 *     and {@code tcp}
 */
public record Explanation(
    long bytes,
    WireType wireType,
    long sentBytes,
    int ranks,
    Algorithm chosen,
    int frameLength,
    List<Prediction> predictions,
    Costs costs,
    long libraryBytes,
    List<String> transports) {

  /** Keeps copies of the lists. */
  public Explanation {
    predictions = List.copyOf(predictions);
    transports = List.copyOf(transports);
  }

  /**
   * What a call is predicted to take.
   *
   * @param algorithm the route
   * @param micros the time from the first rank's start to the last one's end, in microseconds
   */
  public record Prediction(Algorithm algorithm, double micros) {}

  /**
   * What the links and processors of a group cost, with all ranks at work.
   *
   * @param measured whether {@link Communicator#tune()} has measured it and was believed; if not it
   *     is taken to be that of ranks on one host
   * @param hopMicros latency of a hop, in microseconds (the α of the literature)
   * @param frameMicros what one more frame costs a rank, in microseconds
   * @param movedNanos to send a byte and take it in, in nanoseconds (β)
   * @param reducedNanos to reduce a byte, in nanoseconds (γ)
   */
  public record Costs(
      boolean measured,
      double hopMicros,
      double frameMicros,
      double movedNanos,
      double reducedNanos) {}

  /** A table for people. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            Locale.ROOT,
            "all-reduce of %,d bytes by %d ranks: %s, in frames of at most %,d bytes%n",
            bytes,
            ranks,
            chosen.name(),
            frameLength));
    text.append(
        String.format(
            Locale.ROOT, "elements cross %s: this rank sends %,d bytes%n", wireType, sentBytes));
    for (Prediction prediction : predictions) {
      text.append(
          String.format(
              Locale.ROOT,
              "  %-18s %12.1f us%n",
              prediction.algorithm().name(),
              prediction.micros()));
    }
    text.append(
        String.format(
            Locale.ROOT,
            "%s: hop %.2f us, frame %.2f us, moved %.3f ns/B, reduced %.3f ns/B%n",
            costs.measured() ? "measured" : "not measured, figures for one host",
            costs.hopMicros(),
            costs.frameMicros(),
            costs.movedNanos(),
            costs.reducedNanos()));
    text.append(String.format("transports: %s%n", String.join(", ", transports)));
    text.append(
        String.format(Locale.ROOT, "memory of the library: at most %,d bytes%n", libraryBytes));
    return text.toString();
  }
}
