package io.collectives;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The settings of the calls of a communicator. They cannot be changed: each {@code with} method
 * returns others, or throws an {@link IllegalArgumentException} if a value is not allowed. All
 * ranks must use the same algorithm, wire type, repeatability, finite check, frame length and
 * number of slabs in flight.
 */
public final class CallSettings {
  /**
   * The value of {@link #frameLength} that lets the library choose by the transport: 512 KiB where
   * all ranks are threads of one JVM, which read each other's arrays, 128 KiB where all share
   * memory, else 196,288 bytes, which with a header fill three segments of TCP on a loopback
   * interface (frames of 128 KiB take three, too, and leave the last one almost empty).
   */
  public static final int AUTO = 0;

  private static final int LONGEST_THAT_SUITS = 192 * 1024;
  private static final CallSettings DEFAULTS = new CallSettings(new Values());

  private final Values values;

  /** The values, which nothing changes once they belong to settings. */
  private static final class Values {
    Algorithm algorithm = Algorithm.auto();
    Duration timeout = Duration.ofSeconds(30);
    WireType wireType = WireType.AS_IN_MEMORY;
    Repeatability repeatability = Repeatability.FASTEST;
    boolean finiteCheck;
    int frameLength = AUTO;
    int slabsInFlight = 2;
    Duration silenceLimit = Duration.ofSeconds(5);
    @Nullable Path flightDirectory;
    @Nullable Path traceDirectory;
    boolean callSites;
    @Nullable Path reportDirectory;

    Values() {}

    Values(Values other) {
      algorithm = other.algorithm;
      timeout = other.timeout;
      wireType = other.wireType;
      repeatability = other.repeatability;
      finiteCheck = other.finiteCheck;
      frameLength = other.frameLength;
      slabsInFlight = other.slabsInFlight;
      silenceLimit = other.silenceLimit;
      flightDirectory = other.flightDirectory;
      traceDirectory = other.traceDirectory;
      callSites = other.callSites;
      reportDirectory = other.reportDirectory;
    }
  }

  private CallSettings(Values values) {
    check(values);
    this.values = values;
  }

  private static void check(Values values) {
    Objects.requireNonNull(values.algorithm, "algorithm");
    Duration timeout = values.timeout;
    if (timeout.isNegative() || timeout.isZero() || timeout.compareTo(Duration.ofDays(365)) > 0) {
      throw new IllegalArgumentException(
          "call timeout " + timeout + ": must be more than zero and at most 365 days");
    }
    Objects.requireNonNull(values.wireType, "wireType");
    if (Objects.requireNonNull(values.repeatability, "repeatability").needsAllAtOnce()
        && values.wireType == WireType.INT8) {
      throw new IllegalArgumentException(
          "repeatability "
              + values.repeatability
              + " with the wire type int8: the frame length decides which elements share an"
              + " exponent, so the bits would depend on it; use bfloat16, float16 or as-in-memory");
    }
    int frameLength = values.frameLength;
    if (frameLength != AUTO && (frameLength < 64 || frameLength > 64 * 1024 * 1024)) {
      throw new IllegalArgumentException(
          "frame length "
              + frameLength
              + ": must be from 64 bytes to 64 MiB, or 0 for what suits the transport");
    }
    if (values.slabsInFlight < 1 || values.slabsInFlight > 64) {
      throw new IllegalArgumentException(
          "slabs in flight " + values.slabsInFlight + ": must be from 1 to 64");
    }
    if (values.silenceLimit.compareTo(Duration.ofMillis(100)) < 0
        || values.silenceLimit.compareTo(Duration.ofDays(365)) > 0) {
      throw new IllegalArgumentException(
          "silence limit " + values.silenceLimit + ": must be from 100 milliseconds to 365 days");
    }
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

  /** Returns the route of the payload. */
  public Algorithm algorithm() {
    return values.algorithm;
  }

  /** Returns these settings with another algorithm. */
  public CallSettings withAlgorithm(Algorithm other) {
    Values copy = new Values(values);
    copy.algorithm = other;
    return new CallSettings(copy);
  }

  /** Returns the longest time from the start of a call to its end, more than zero. */
  public Duration timeout() {
    return values.timeout;
  }

  /** Returns these settings with another time limit. */
  public CallSettings withTimeout(Duration other) {
    Values copy = new Values(values);
    copy.timeout = other;
    return new CallSettings(copy);
  }

  /** Returns the type to which the elements of a float32 reduction are converted for sending. */
  public WireType wireType() {
    return values.wireType;
  }

  /** Returns these settings with another wire type. */
  public CallSettings withWireType(WireType other) {
    Values copy = new Values(values);
    copy.wireType = other;
    return new CallSettings(copy);
  }

  /** Returns the facts on which the bits of a floating-point reduction may depend. */
  public Repeatability repeatability() {
    return values.repeatability;
  }

  /** Returns these settings with another repeatability. */
  public CallSettings withRepeatability(Repeatability other) {
    Values copy = new Values(values);
    copy.repeatability = other;
    return new CallSettings(copy);
  }

  /**
   * Returns whether a reduction throws a {@link NonFiniteException} that names the rank which
   * contributed a number that is not finite; see {@link Communicator#checkingFinite()}.
   */
  public boolean finiteCheck() {
    return values.finiteCheck;
  }

  /** Returns these settings with the check for finite numbers switched on or off. */
  public CallSettings withFiniteCheck(boolean other) {
    Values copy = new Values(values);
    copy.finiteCheck = other;
    return new CallSettings(copy);
  }

  /**
   * Returns the most bytes of payload that one frame carries, at least 64, or {@link #AUTO}; long
   * payloads are cut into slabs so that frames keep within it.
   */
  public int frameLength() {
    return values.frameLength;
  }

  /** Returns these settings with another frame length, in bytes, or {@link #AUTO}. */
  public CallSettings withFrameLength(int other) {
    Values copy = new Values(values);
    copy.frameLength = other;
    return new CallSettings(copy);
  }

  /**
   * Returns the number of slabs that may be under way at once, from 1 to 64; with the frame length
   * it bounds how much data is queued on a link. Calls of a rank that are under way at the same
   * time share them, whatever their groups, and each has one at least.
   */
  public int slabsInFlight() {
    return values.slabsInFlight;
  }

  /** Returns these settings with another number of slabs in flight. */
  public CallSettings withSlabsInFlight(int other) {
    Values copy = new Values(values);
    copy.slabsInFlight = other;
    return new CallSettings(copy);
  }

  /**
   * Returns the time without a message after which a peer is taken for dead, an eighth more if its
   * rank is the lower one; at least 100 milliseconds. Connected ranks send keep-alives 16 times in
   * this time.
   */
  public Duration silenceLimit() {
    return values.silenceLimit;
  }

  /** Returns these settings with another silence limit. */
  public CallSettings withSilenceLimit(Duration other) {
    Values copy = new Values(values);
    copy.silenceLimit = other;
    return new CallSettings(copy);
  }

  /**
   * Returns the directory in which each rank writes its {@linkplain Communicator#flightRecord()
   * flight record} when a call fails, as {@code flight-rank-3.tsv}; it may differ between ranks;
   * null writes nothing.
   */
  public @Nullable Path flightDirectory() {
    return values.flightDirectory;
  }

  /** Returns these settings with a directory for flight records. */
  public CallSettings withFlightDirectory(Path other) {
    Values copy = new Values(values);
    copy.flightDirectory = Objects.requireNonNull(other);
    return new CallSettings(copy);
  }

  /**
   * Returns the directory in which each rank that joins with these settings writes its {@linkplain
   * Communicator#trace trace} when it closes its world, and when a call fails, as {@code
   * trace-rank-3.tsv}; it may differ between ranks; null traces nothing.
   *
   * @since 0.2.0
   */
  public @Nullable Path traceDirectory() {
    return values.traceDirectory;
  }

  /**
   * Returns these settings with a directory for traces.
   *
   * @since 0.2.0
   */
  public CallSettings withTraceDirectory(Path other) {
    Values copy = new Values(values);
    copy.traceDirectory = Objects.requireNonNull(other);
    return new CallSettings(copy);
  }

  /**
   * Returns whether flight records and traces name the place in the program at which each call was
   * made; finding it walks the stack, which takes a microsecond or two for each call.
   *
   * @since 0.2.0
   */
  public boolean callSites() {
    return values.callSites;
  }

  /**
   * Returns these settings with the places of calls looked for or not.
   *
   * @since 0.2.0
   */
  public CallSettings withCallSites(boolean other) {
    Values copy = new Values(values);
    copy.callSites = other;
    return new CallSettings(copy);
  }

  /**
   * Returns the directory in which each rank that joins with these settings writes a report of its
   * run, as {@code report-rank-3.tsv}, for {@code bin/collectives report}: its steps, counters of
   * calls, garbage collections and failures. It is written every ten seconds and when the world is
   * closed; null writes nothing.
   *
   * @since 0.2.0
   */
  public @Nullable Path reportDirectory() {
    return values.reportDirectory;
  }

  /**
   * Returns these settings with a directory for reports of the run.
   *
   * @since 0.2.0
   */
  public CallSettings withReportDirectory(Path other) {
    Values copy = new Values(values);
    copy.reportDirectory = Objects.requireNonNull(other);
    return new CallSettings(copy);
  }

  /** Returns the largest number of payload bytes in a frame from one process to another. */
  public int frameLimit() {
    return values.frameLength == AUTO ? LONGEST_THAT_SUITS : values.frameLength;
  }

  /** Returns the values, for people. */
  @Override
  public String toString() {
    return "algorithm="
        + values.algorithm
        + ", timeout="
        + values.timeout
        + ", wireType="
        + values.wireType
        + ", repeatability="
        + values.repeatability
        + ", finiteCheck="
        + values.finiteCheck
        + ", frameLength="
        + values.frameLength
        + ", slabsInFlight="
        + values.slabsInFlight
        + ", silenceLimit="
        + values.silenceLimit
        + ", flightDirectory="
        + values.flightDirectory
        + ", traceDirectory="
        + values.traceDirectory
        + ", callSites="
        + values.callSites
        + ", reportDirectory="
        + values.reportDirectory;
  }
}
