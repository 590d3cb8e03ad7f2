package io.collectives;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a communicator does unless a call says otherwise. All ranks must use the same algorithm,
 * wire type, repeatability, finite check, frame length and number of slabs in flight.
 *
 * @param algorithm the route of the payload
 * @param timeout the longest time from the start of a call to its end, more than zero
 * @param wireType as what the elements of a float32 reduction cross the links
 * @param repeatability what the bits of a floating-point reduction may depend on
 * @param finiteCheck whether reductions tell who contributed a number that is not finite, by a
 *     {@link NonFiniteException}; see {@link Communicator#checkingFinite()}
 * @param frameLength the most bytes of payload that one frame carries, at least 64, or {@link
 *     #AS_SUITS_THE_TRANSPORT}; long payloads are cut into slabs so that frames keep within it
 * @param slabsInFlight how many slabs of one call may be under way at once, from 1 to 64; with the
 *     frame length it bounds how much data is queued on a link
 * @param silenceLimit after how long without a sign of life a peer is taken for dead, an eighth
 *     more if its rank is the lower one; at least 100 milliseconds. Ranks that are connected beat
 *     16 times as often
 * @param flightDirectory where each rank writes its {@linkplain Communicator#flightRecord() flight
 *     record} when a call fails, as {@code flight-rank-3.tsv}; may differ between ranks; nothing is
 *     written if there is none
 */
public record CallSettings(
    Algorithm algorithm,
    Duration timeout,
    WireType wireType,
    Repeatability repeatability,
    boolean finiteCheck,
    int frameLength,
    int slabsInFlight,
    Duration silenceLimit,
    @Nullable Path flightDirectory) {
  /**
   * The frame length that leaves it to the transport: 128 KiB where all ranks share memory, else
   * 196,288 bytes, which with a header fill three segments of TCP on a loopback interface (frames
   * of 128 KiB take three, too, the last one all but empty).
   */
  public static final int AS_SUITS_THE_TRANSPORT = 0;

  private static final int LONGEST_THAT_SUITS = 192 * 1024;

  private static final CallSettings DEFAULTS =
      new CallSettings(
          Algorithm.auto(),
          Duration.ofSeconds(30),
          WireType.AS_IN_MEMORY,
          Repeatability.FASTEST,
          false,
          AS_SUITS_THE_TRANSPORT,
          2,
          Duration.ofSeconds(5),
          null);

  /** Checks the values. */
  public CallSettings {
    Objects.requireNonNull(algorithm, "algorithm");
    if (timeout.isNegative() || timeout.isZero() || timeout.compareTo(Duration.ofDays(365)) > 0) {
      throw new IllegalArgumentException(
          "call timeout " + timeout + ": must be more than zero and at most 365 days");
    }
    Objects.requireNonNull(wireType, "wireType");
    if (Objects.requireNonNull(repeatability, "repeatability").needsAllAtOnce()
        && wireType == WireType.INT8) {
      throw new IllegalArgumentException(
          "repeatability "
              + repeatability
              + " with the wire type int8: the frame length decides which elements share an"
              + " exponent, so the bits would depend on it; use bfloat16, float16 or as-in-memory");
    }
    if (frameLength != AS_SUITS_THE_TRANSPORT
        && (frameLength < 64 || frameLength > 64 * 1024 * 1024)) {
      throw new IllegalArgumentException(
          "frame length "
              + frameLength
              + ": must be from 64 bytes to 64 MiB, or 0 for what suits the transport");
    }
    if (slabsInFlight < 1 || slabsInFlight > 64) {
      throw new IllegalArgumentException(
          "slabs in flight " + slabsInFlight + ": must be from 1 to 64");
    }
    if (silenceLimit.compareTo(Duration.ofMillis(100)) < 0
        || silenceLimit.compareTo(Duration.ofDays(365)) > 0) {
      throw new IllegalArgumentException(
          "silence limit " + silenceLimit + ": must be from 100 milliseconds to 365 days");
    }
  }

  /**
   * {@link Algorithm#auto}, 30 seconds, elements as in memory and not checked, the fastest sums,
   * frames as long as suits the transport, 2 slabs in flight, 5 seconds of silence.
   */
  public static CallSettings defaults() {
    return DEFAULTS;
  }

  /** The most bytes that a frame carries, whatever the transport. */
  public int frameLimit() {
    return frameLength == AS_SUITS_THE_TRANSPORT ? LONGEST_THAT_SUITS : frameLength;
  }

  /** The same with another algorithm. */
  public CallSettings withAlgorithm(Algorithm other) {
    return new CallSettings(
        other,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory);
  }

  /** The same with another time limit. */
  public CallSettings withTimeout(Duration other) {
    return new CallSettings(
        algorithm,
        other,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory);
  }

  /** The same with another wire type. */
  public CallSettings withWireType(WireType other) {
    return new CallSettings(
        algorithm,
        timeout,
        other,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory);
  }

  /** The same with another repeatability. */
  public CallSettings withRepeatability(Repeatability other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        other,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory);
  }

  /** The same with numbers checked, or not. */
  public CallSettings withFiniteCheck(boolean other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        repeatability,
        other,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory);
  }

  /** The same with another frame length, in bytes. */
  public CallSettings withFrameLength(int other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        other,
        slabsInFlight,
        silenceLimit,
        flightDirectory);
  }

  /** The same with another number of slabs in flight. */
  public CallSettings withSlabsInFlight(int other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        other,
        silenceLimit,
        flightDirectory);
  }

  /** The same with a directory for flight records. */
  public CallSettings withFlightDirectory(Path other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        Objects.requireNonNull(other));
  }

  /** The same with another limit of silence. */
  public CallSettings withSilenceLimit(Duration other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        other,
        flightDirectory);
  }
}
