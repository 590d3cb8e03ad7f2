package io.collectives;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The settings of the calls of a communicator. All ranks must use the same algorithm, wire type,
 * repeatability, finite check, frame length and number of slabs in flight.
 *
 * @param algorithm the route of the payload
 * @param timeout the longest time from the start of a call to its end, more than zero
 * @param wireType the type to which the elements of a float32 reduction are converted for sending
 * @param repeatability the facts on which the bits of a floating-point reduction may depend
 * @param finiteCheck whether a reduction throws a {@link NonFiniteException} that names the rank
 *     which contributed a number that is not finite; see {@link Communicator#checkingFinite()}
 * @param frameLength the most bytes of payload that one frame carries, at least 64, or {@link
 *     #AUTO}; long payloads are cut into slabs so that frames keep within it
 * @param slabsInFlight the number of slabs of one call that may be under way at once, from 1 to 64;
 *     with the frame length it bounds how much data is queued on a link
 * @param silenceLimit the time without a message after which a peer is taken for dead, an eighth
 *     more if its rank is the lower one; at least 100 milliseconds. Connected ranks send
 *     keep-alives 16 times in this time
 * @param flightDirectory the directory in which each rank writes its {@linkplain
 *     Communicator#flightRecord() flight record} when a call fails, as {@code flight-rank-3.tsv};
 *     it may differ between ranks; null writes nothing
 * @param traceDirectory the directory in which each rank that joins with these settings writes its
 *     {@linkplain Communicator#trace trace} when it closes its world, and when a call fails, as
 *     {@code trace-rank-3.tsv}; it may differ between ranks; null traces nothing
 * @param callSites whether flight records and traces name the place in the program at which each
 *     call was made; finding it walks the stack, which takes a microsecond or two for each call
 * @param reportDirectory the directory in which each rank that joins with these settings writes a
 *     report of its run, as {@code report-rank-3.tsv}, for {@code bin/collectives report}: its
 *     steps, counters of calls, garbage collections and failures. It is written every ten seconds
 *     and when the world is closed; null writes nothing; since 0.2.0
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
    @Nullable Path flightDirectory,
    @Nullable Path traceDirectory,
    boolean callSites,
    @Nullable Path reportDirectory) {
  /**
   * The value of {@link #frameLength} that lets the library choose by the transport: 128 KiB where
   * all ranks share memory, else 196,288 bytes, which with a header fill three segments of TCP on a
   * loopback interface (frames of 128 KiB take three, too, and leave the last one almost empty).
   */
  public static final int AUTO = 0;

  private static final int LONGEST_THAT_SUITS = 192 * 1024;

  private static final CallSettings DEFAULTS =
      new CallSettings(
          Algorithm.auto(),
          Duration.ofSeconds(30),
          WireType.AS_IN_MEMORY,
          Repeatability.FASTEST,
          false,
          AUTO,
          2,
          Duration.ofSeconds(5),
          null,
          null,
          false,
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
    if (frameLength != AUTO && (frameLength < 64 || frameLength > 64 * 1024 * 1024)) {
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
   * Makes settings that trace and report nothing and look for no places of calls.
   *
   * @throws IllegalArgumentException if a value is not allowed
   */
  public CallSettings(
      Algorithm algorithm,
      Duration timeout,
      WireType wireType,
      Repeatability repeatability,
      boolean finiteCheck,
      int frameLength,
      int slabsInFlight,
      Duration silenceLimit,
      @Nullable Path flightDirectory) {
    this(
        algorithm,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory,
        null,
        false,
        null);
  }

  /**
   * Returns the default settings: {@link Algorithm#auto}, a timeout of 30 seconds, elements sent as
   * they are in memory and not checked, {@link Repeatability#FASTEST}, the frame length {@link
   * #AUTO}, 2 slabs in flight, a silence limit of 5 seconds, no flight records, no traces, no
   * places of calls, and no reports.
   */
  public static CallSettings defaults() {
    return DEFAULTS;
  }

  /** Returns the largest number of payload bytes in a frame, whatever the transport. */
  public int frameLimit() {
    return frameLength == AUTO ? LONGEST_THAT_SUITS : frameLength;
  }

  /** Returns these settings with another algorithm. */
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
        flightDirectory,
        traceDirectory,
        callSites,
        reportDirectory);
  }

  /** Returns these settings with another time limit. */
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
        flightDirectory,
        traceDirectory,
        callSites,
        reportDirectory);
  }

  /** Returns these settings with another wire type. */
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
        flightDirectory,
        traceDirectory,
        callSites,
        reportDirectory);
  }

  /** Returns these settings with another repeatability. */
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
        flightDirectory,
        traceDirectory,
        callSites,
        reportDirectory);
  }

  /** Returns these settings with the check for finite numbers switched on or off. */
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
        flightDirectory,
        traceDirectory,
        callSites,
        reportDirectory);
  }

  /** Returns these settings with another frame length, in bytes, or {@link #AUTO}. */
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
        flightDirectory,
        traceDirectory,
        callSites,
        reportDirectory);
  }

  /** Returns these settings with another number of slabs in flight. */
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
        flightDirectory,
        traceDirectory,
        callSites,
        reportDirectory);
  }

  /** Returns these settings with a directory for flight records. */
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
        Objects.requireNonNull(other),
        traceDirectory,
        callSites,
        reportDirectory);
  }

  /**
   * Returns these settings with a directory for traces.
   *
   * @since 0.2.0
   */
  public CallSettings withTraceDirectory(Path other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory,
        Objects.requireNonNull(other),
        callSites,
        reportDirectory);
  }

  /**
   * Returns these settings with the places of calls looked for or not.
   *
   * @since 0.2.0
   */
  public CallSettings withCallSites(boolean other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory,
        traceDirectory,
        other,
        reportDirectory);
  }

  /**
   * Returns these settings with a directory for reports of the run.
   *
   * @since 0.2.0
   */
  public CallSettings withReportDirectory(Path other) {
    return new CallSettings(
        algorithm,
        timeout,
        wireType,
        repeatability,
        finiteCheck,
        frameLength,
        slabsInFlight,
        silenceLimit,
        flightDirectory,
        traceDirectory,
        callSites,
        Objects.requireNonNull(other));
  }

  /** Returns these settings with another silence limit. */
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
        flightDirectory,
        traceDirectory,
        callSites,
        reportDirectory);
  }
}
