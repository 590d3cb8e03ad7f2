package io.collectives.bench.timeline;

/**
 * An event in the trace of a rank.
 *
 * @param time when it was
 * @param place where in its call it belongs
 * @param peer the rank that a frame goes to or comes from, or that is waited for; -1 if there is
 *     none
 * @param bytes of the payload of the call, or of the frame
 * @param name of a call, a mark or a pause; of a frame that has come {@code shared memory} if that
 *     is what it came by, {@code inline} if it came by an inline exchange that was not timed; else
 *     empty
 */
record TraceEvent(Kind kind, Span time, Place place, int peer, long bytes, String name) {

  /**
   * The time of an event, in nanoseconds; see {@link RankTrace} for the clock.
   *
   * @param begin when it began
   * @param nanos how long it took; a frame that has come takes from its arrival to when it was
   *     applied
   * @param worked the part of that, at its end, in which the rank worked on it; of a call the time
   *     that it waited for its turn, at its beginning
   */
  record Span(long begin, long nanos, long worked) {}

  /** The kind of an event. */
  enum Kind {
    /** A call that has ended well. */
    CALL,
    /** A call that has failed. */
    FAILED,
    /** A call that was under way when the trace was written. */
    RUNNING,
    /** A call that waited for its turn when the trace was written. */
    QUEUED,
    /** A frame that was handed over to the transport. */
    SEND,
    /** A frame that has come. */
    RECEIVE,
    /** Work on payload beside that on a single frame that has come whole. */
    WORK,
    /** The rank had nothing to do in its calls until something came from a peer. */
    WAIT,
    /** Something is so from then on. */
    MARK,
    /** A pause of the garbage collector. */
    GC;

    /** Returns whether it is a call, whatever became of it. */
    boolean isCall() {
      return this == CALL || this == FAILED || this == RUNNING || this == QUEUED;
    }
  }

  /**
   * A place in a call; all zero if an event has none.
   *
   * @param group the number of the group
   * @param sequence the number of the call in it
   * @param round of the plan
   * @param chunk the first one of a frame
   */
  record Place(long group, long sequence, int lane, int slab, int round, int chunk) {}

  /** Returns whether it is a frame of which only the call is recorded. */
  boolean isInline() {
    return name.equals("inline") && kind == Kind.RECEIVE;
  }

  /** Returns when it began. */
  long begin() {
    return time.begin;
  }

  /** Returns how long it took. */
  long nanos() {
    return time.nanos;
  }

  /** Returns how long the rank worked on it, or of a call how long it waited for its turn. */
  long worked() {
    return time.worked;
  }

  /** Returns when it ended. */
  long end() {
    return time.begin + time.nanos;
  }

  /** Returns the same event on a clock that shows so much less. */
  TraceEvent earlier(long nanosLess) {
    Span earlier = new Span(time.begin - nanosLess, time.nanos, time.worked);
    return new TraceEvent(kind, earlier, place, peer, bytes, name);
  }
}
