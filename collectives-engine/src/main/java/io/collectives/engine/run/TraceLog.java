package io.collectives.engine.run;

import io.collectives.spi.FrameHeader;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Records what this rank does, and for whom it waits, while it is {@linkplain #isOn on}: calls,
 * frames that it sends and that come, the work of sending and of applying, and waiting. Off, it has
 * no memory, and a place that would record something reads one field.
 *
 * <p>The last {@value #EVENTS} events are kept, in one array that is made when recording begins;
 * earlier ones are counted and forgotten. What happens outside of the engine (tensors that become
 * ready, pauses of the garbage collector) comes from other threads, and is kept by itself as {@link
 * Mark marks}, of which the first {@value #MARKS} count.
 *
 * <p>The clock is looked at when a header comes and when a piece of work ends. A piece of work
 * begins at the look before it, which is the end of the piece before it or the beginning of the
 * poll: the engine does one thing after the other, and a look takes as long as the sum of a hundred
 * floats.
 *
 * <p><b>Waiting</b> begins with the first poll of the engine in which nothing could be done though
 * calls are under way, and ends with the first one that finds something; both times are those at
 * which the polls began, so that it takes no look at the clock.
 *
 * <p><b>Calls by inline exchange</b> take less time than ten looks at the clock, so such a call is
 * one event, with no look of its own, of which the others are made when the record is written: its
 * frames were sent when it began and came at the beginning of the poll that completed it, and its
 * sum took no time. Receives with such times are called {@code inline}; they may be earlier than
 * the bytes by what a poll takes. So that the times of some are known, and clocks can be compared,
 * all that happens in one of them is recorded by itself every millisecond.
 */
public final class TraceLog {
  /** The number of events that are kept; they take 16 MiB. */
  static final int EVENTS = 1 << 18;

  /** The number of marks that are kept. */
  static final int MARKS = 1 << 16;

  /** So long after a call by inline exchange of which the frames were timed, another one is. */
  private static final long TIMED_NANOS = 1_000_000;

  private static final int WORDS = 8;
  private static final long LOW = 0xffff_ffffL;
  private static final int DELAY_BITS = 44;
  private static final int INLINE_BITS = 18;
  private static final int LONGEST_NAME = 256;
  private static final int MOST_NAMES = 1 << 12;
  private static final String COLUMNS =
      "kind\tbegin\tduration\tworked\tgroup\tsequence\tlane\tslab\tround\tchunk\tpeer\tbytes\tname\n";

  /** The kinds of events, in the order of their numbers. */
  private static final String[] KINDS = {
    "call", "failed", "running", "queued", "send", "receive", "work", "wait"
  };

  static final int CALL = 0;
  static final int FAILED = 1;
  static final int RUNNING = 2;
  static final int QUEUED = 3;
  private static final int SEND = 4;
  private static final int RECEIVE = 5;
  private static final int WORK = 6;
  private static final int WAIT = 7;
  private static final int INLINE = 8;
  private static final int NOBODY = -1;

  /** The bit of a frame whose body was read in the memory of its sender. */
  private static final long VIEW = 1 << 16;

  private final int rank;
  private final int size;
  private final LongSupplier clock;

  /** If true, events are recorded. It changes only while the engine is driven by who changes it. */
  boolean isOn;

  private long[] ring = {};
  private int mask;
  private long recorded;

  /** The number of events as which those that are recorded are written. */
  private long written;

  private long began;
  private final List<Name> names = new ArrayList<>();
  private @Nullable Name lastName;

  private final List<Mark> marks = new ArrayList<>();
  private long marksDropped;

  /** The last look at the clock. */
  private long last;

  /** The beginning of the poll, or of the start of a call, in which the engine is. */
  private long turned;

  /** The beginning of the call by inline exchange of which the frames were timed last. */
  private long timed;

  private boolean waits;
  private long waitBegin;
  private int waitPeer;
  private long waitGroup;
  private long waitSequence;

  TraceLog(int rank, int size, LongSupplier clock) {
    this.rank = rank;
    this.size = size;
    this.clock = clock;
  }

  /**
   * An event of another thread than the driver's.
   *
   * @param kind {@code mark} or {@code gc}
   * @param begin on the clock of the engine
   * @param nanos how long it took, 0 if it is a moment
   * @param name for people
   */
  public record Mark(String kind, long begin, long nanos, String name) {}

  /**
   * The name that calls of one program have in a group with these members.
   *
   * @param frames as how many events the frames of such a call are written
   */
  private record Name(int index, Program program, String site, int[] members, int frames) {
    boolean isOf(Call call) {
      return program == call.program && members == call.group.members && site.equals(call.site);
    }

    String text() {
      String call = program.collective + " by " + program.algorithm.name();
      return site.isEmpty() ? call : call + " at " + site;
    }
  }

  /** Looks at the clock of the engine; what is recorded next begins then. */
  long look() {
    return last = clock.getAsLong();
  }

  /**
   * The engine has looked at its clock at the beginning of a poll or a call; what is recorded next
   * begins then.
   */
  void looked(long now) {
    last = now;
    turned = now;
  }

  /** Begins to record. */
  void begin() {
    ring = new long[EVENTS * WORDS];
    mask = EVENTS - 1;
    recorded = 0;
    written = 0;
    names.clear();
    lastName = null;
    waits = false;
    began = look();
    timed = began - TIMED_NANOS;
    synchronized (marks) {
      marks.clear();
      marksDropped = 0;
    }
    isOn = true;
  }

  /** Ends recording and frees its memory. */
  void end() {
    isOn = false;
    ring = new long[0];
    recorded = 0;
  }

  /** Returns whether events are recorded; another thread than the driver's may hear of it late. */
  public boolean isOn() {
    return isOn;
  }

  /** Records that something is so from now on; any thread may call. */
  public void mark(String name) {
    mark(new Mark("mark", clock.getAsLong(), 0, name));
  }

  /** Records an event of another thread; any may call. The first ones count. */
  public void mark(Mark mark) {
    synchronized (marks) {
      if (marks.size() < MARKS) {
        marks.add(mark);
      } else {
        marksDropped++;
      }
    }
  }

  private int put(int kind, long begin, long nanos, long group, long sequence) {
    int at = (int) (recorded++ & mask) * WORDS;
    written++;
    ring[at] = begin;
    ring[at + 1] = nanos;
    ring[at + 2] = group;
    ring[at + 3] = sequence;
    ring[at + 4] = kind;
    return at;
  }

  private void frame(int at, int peer, int lane, int slab, Program.Step step) {
    ring[at + 4] |= (lane & 0xffL) << 8 | (long) peer << 32;
    ring[at + 5] = slab & LOW | (long) step.round << 32;
    ring[at + 6] = (long) step.firstChunk << 32;
  }

  /** A call has ended, by what was recorded last. */
  void ended(Call call, boolean failed) {
    if (call.isInline && !call.isTimed && !failed) {
      exchanged(call);
    } else {
      call(call, failed ? FAILED : CALL, last);
    }
  }

  /**
   * Returns whether that which happens in a call by inline exchange is recorded by itself.
   *
   * @param now when it begins
   */
  boolean times(long now) {
    if (now - timed < TIMED_NANOS) {
      return false;
    }
    timed = now;
    return true;
  }

  /** Records a call by inline exchange with all that has happened in it. */
  private void exchanged(Call call) {
    long[] to = ring;
    int at = (int) (recorded++ & mask) * WORDS;
    long begin = call.startNanos;
    Name name = name(call);
    boolean waited = waits && waitSequence == call.sequence && waitGroup == call.group.id;
    waits &= !waited;
    written += 1 + (waited ? 1 : 0) + (name == null ? 0 : name.frames);
    to[at] = begin;
    to[at + 1] = turned - begin;
    to[at + 2] = call.group.id;
    to[at + 3] = call.sequence;
    to[at + 4] = INLINE | (long) (waited ? waitPeer : NOBODY) << 32;
    to[at + 5] = name == null ? MOST_NAMES : name.index;
    to[at + 6] = call.bytes() | (call.begunNanos - begin) << INLINE_BITS;
    to[at + 7] = waited ? waitBegin - begin : 0;
  }

  private void call(Call call, int state, long now) {
    int at = put(state, call.startNanos, now - call.startNanos, call.group.id, call.sequence);
    ring[at + 4] |= (long) NOBODY << 32;
    Name name = name(call);
    ring[at + 5] = name == null ? MOST_NAMES : name.index;
    ring[at + 6] = call.bytes();
    long delay = Math.max(0, (state == QUEUED ? now : call.begunNanos) - call.startNanos);
    ring[at + 7] = Math.min(delay, (1L << DELAY_BITS) - 1);
  }

  /** Returns the name of a call, nothing if there is no room for one more. */
  private @Nullable Name name(Call call) {
    Name last = lastName;
    if (last != null && last.isOf(call)) {
      return last;
    }
    for (int i = 0; i < names.size(); i++) {
      if (names.get(i).isOf(call)) {
        return lastName = names.get(i);
      }
    }
    if (names.size() == MOST_NAMES) {
      return null;
    }
    Program program = call.program;
    int frames = 2 * program.peers.length;
    lastName = new Name(names.size(), program, call.site, call.group.members, frames);
    names.add(lastName);
    return lastName;
  }

  /** A frame was handed over to a link. */
  void sent(Call call, int slab, int lane, Program.Step step) {
    long before = last;
    sent(call, slab, lane, step, look() - before);
  }

  private void sent(Call call, int slab, int lane, Program.Step step, long nanos) {
    int at = put(SEND, last - nanos, nanos, call.group.id, call.sequence);
    frame(at, call.group.members[step.peer], lane, slab, step);
    ring[at + 6] |= call.frameLength(step, slab);
    ring[at + 7] = ring[at + 1];
  }

  /** A frame that has come was applied. */
  void received(Call call, Target target, int lane) {
    long before = last;
    received(call, target, lane, look() - before);
  }

  /** A frame that has come was applied together with others. */
  void gathered(Call call, HeldFrame frame) {
    received(call, frame, frame.header.lane, 0);
  }

  private void received(Call call, Target target, int lane, long worked) {
    // If its header came before this was recorded, that time is not known.
    long arrived = target.arrivedNanos;
    long since = arrived == 0 || arrived - began < 0 ? last - worked : arrived;
    int at = received(call, target.run().slab, target.step(), lane, since);
    ring[at + 4] |= target.isView ? VIEW : 0;
    ring[at + 7] = worked;
  }

  /** Bytes were posted by a timed inline exchange, in less time than a look at the clock takes. */
  void sentInline(Call call, Program.Step step) {
    sent(call, 0, 0, step, 0);
  }

  /** Bytes have come by a timed inline exchange. */
  void receivedInline(Call call, Program.Step step) {
    received(call, 0, step, 0, look());
  }

  /** A frame was applied until just now. */
  private int received(Call call, int slab, Program.Step step, int lane, long since) {
    int at = put(RECEIVE, since, last - since, call.group.id, call.sequence);
    frame(at, call.group.members[step.peer], lane, slab, step);
    ring[at + 6] |= call.frameLength(step, slab);
    ring[at + 7] = 0;
    return at;
  }

  /**
   * Some work was done for a call that is not that on the last bytes of a frame by itself.
   *
   * @param bytes how many it was done on
   */
  void worked(Call call, int slab, int lane, int bytes) {
    long before = last;
    int at = put(WORK, before, look() - before, call.group.id, call.sequence);
    ring[at + 4] |= (long) lane << 8 | (long) NOBODY << 32;
    ring[at + 5] = slab & LOW;
    ring[at + 6] = bytes;
    ring[at + 7] = ring[at + 1];
  }

  /** Some bytes of a frame were put aside, because its turn has not come. */
  void held(FrameHeader header, int bytes) {
    long before = last;
    int at = put(WORK, before, look() - before, header.group, header.sequence);
    ring[at + 4] |= (long) header.lane << 8 | (long) NOBODY << 32;
    ring[at + 5] = header.slab & LOW;
    ring[at + 6] = bytes;
    ring[at + 7] = ring[at + 1];
  }

  /**
   * A poll is over.
   *
   * @param now when it began
   * @param oldest the first call under way, nothing if there is none
   */
  void turn(long now, boolean worked, @Nullable Call oldest, Inbound[] inbound) {
    if (waits && (worked || oldest == null)) {
      waits = false;
      waited(now);
    } else if (!waits && !worked && oldest != null) {
      waits = true;
      waitBegin = now;
      waitPeer = oldest.group.members[Waiting.member(oldest, inbound)];
      waitGroup = oldest.group.id;
      waitSequence = oldest.sequence;
    }
  }

  private void waited(long now) {
    int at = put(WAIT, waitBegin, now - waitBegin, waitGroup, waitSequence);
    ring[at + 4] |= (long) waitPeer << 32;
    ring[at + 5] = 0;
    ring[at + 6] = 0;
    ring[at + 7] = 0;
  }

  /** Copies what is recorded, with the calls that have not ended. */
  Record record(Calls calls) {
    long[] ended = ring;
    long endedCount = recorded;
    long endedWritten = written;
    int kept = 0;
    int lines = 0;
    while (kept < Math.min(endedCount, EVENTS)) {
      int more = lines(ended, (int) ((endedCount - kept - 1) % EVENTS) * WORDS);
      if (lines + more > EVENTS) {
        break;
      }
      kept++;
      lines += more;
    }
    int first = (int) ((endedCount - kept) % EVENTS) * WORDS;
    int open = open(calls);
    long[] events = new long[(kept + open) * WORDS];
    int atEnd = Math.min(kept * WORDS, ended.length - first);
    System.arraycopy(ended, first, events, 0, atEnd);
    System.arraycopy(ended, 0, events, atEnd, kept * WORDS - atEnd);
    System.arraycopy(ring, 0, events, kept * WORDS, open * WORDS);
    ring = ended;
    mask = EVENTS - 1;
    recorded = endedCount; // What has not ended is recorded again when it has.
    written = endedWritten;
    List<Mark> others;
    long othersDropped;
    synchronized (marks) {
      others = List.copyOf(marks);
      othersDropped = marksDropped;
    }
    String head =
        "# trace of rank "
            + rank
            + " of "
            + size
            + " at "
            + Instant.now()
            + " = "
            + look()
            + " ns, the last "
            + (lines + open)
            + " of "
            + (endedWritten + open)
            + " events, the first "
            + others.size()
            + " of "
            + (others.size() + othersDropped)
            + " marks\n";
    return new Record(head, events, List.copyOf(names), others);
  }

  /** Returns as how many events one is written. */
  private int lines(long[] events, int at) {
    if ((events[at + 4] & 0xff) != INLINE) {
      return 1;
    }
    int name = (int) events[at + 5];
    boolean waited = events[at + 4] >> 32 != NOBODY;
    return 1 + (waited ? 1 : 0) + (name < names.size() ? names.get(name).frames : 0);
  }

  /** Records what has not ended in a ring of its own. Returns how many events that are. */
  private int open(Calls calls) {
    List<Call> queued = new ArrayList<>();
    calls.groups().forEach(group -> queued.addAll(group.waiting));
    mask = Integer.highestOneBit(calls.underWay().size() + queued.size() | 1) * 2 - 1;
    ring = new long[(mask + 1) * WORDS];
    recorded = 0;
    long now = look();
    if (waits) {
      waited(now);
    }
    calls.underWay().forEach(call -> call(call, RUNNING, now));
    queued.forEach(call -> call(call, QUEUED, now));
    return (int) recorded;
  }

  /** A copy of all that was recorded until some moment. */
  public static final class Record {
    private final String head;
    private final long[] events;
    private final List<Name> names;
    private final List<String> texts;
    private final List<Mark> marks;

    private Record(String head, long[] events, List<Name> names, List<Mark> marks) {
      this.head = head;
      this.events = events;
      this.names = names;
      this.texts = names.stream().map(Name::text).toList();
      this.marks = marks;
    }

    /**
     * Writes it as text: a comment with the rank and the number of events, a line of column names,
     * a line for each event with tabs between, and a last comment, by whose absence a file that was
     * cut off is known. Times are nanoseconds on this rank's clock.
     */
    public void writeTo(Appendable out) throws IOException {
      out.append(head).append(COLUMNS);
      StringBuilder line = new StringBuilder();
      for (int at = 0; at < events.length; at += WORDS) {
        line.setLength(0);
        if ((events[at + 4] & 0xff) == INLINE) {
          exchanged(line, at);
        } else {
          append(line, at);
        }
        out.append(line);
      }
      for (Mark mark : marks) {
        String name = mark.name().replaceAll("[\\t\\r\\n]", " ");
        line.setLength(0);
        line.append(mark.kind()).append('\t').append(mark.begin()).append('\t');
        line.append(mark.nanos()).append("\t0\t0\t0\t0\t0\t0\t0\t-1\t0\t");
        line.append(name, 0, Math.min(name.length(), LONGEST_NAME)).append('\n');
        out.append(line);
      }
      out.append("# end\n");
    }

    /** Appends the events of a call by inline exchange. */
    private void exchanged(StringBuilder line, int at) {
      long begin = events[at];
      long end = begin + events[at + 1];
      long delay = events[at + 6] >> INLINE_BITS;
      long bytes = events[at + 6] & (1 << INLINE_BITS) - 1;
      int peer = (int) (events[at + 4] >> 32);
      int index = (int) events[at + 5];
      begin(line, "call", begin, end - begin, delay, at).append("\t0\t0\t0\t0\t-1\t");
      line.append(bytes).append('\t');
      named(line, index);
      if (peer != NOBODY) {
        long waited = events[at + 7];
        begin(line, "wait", begin + waited, end - begin - waited, 0, at);
        line.append("\t0\t0\t0\t0\t").append(peer).append("\t0\t\n");
      }
      if (index < names.size()) {
        Name name = names.get(index);
        Program.Lane lane = name.program.lanes[0];
        for (Program.Step step : lane.sends) {
          begin(line, "send", begin + delay, 0, 0, at);
          frame(line, step, name).append(bytes).append("\t\n");
        }
        for (Program.Step[] steps : lane.receives) {
          begin(line, "receive", end, 0, 0, at);
          frame(line, steps[0], name).append(bytes).append("\tinline\n");
        }
      }
    }

    private StringBuilder begin(
        StringBuilder line, String kind, long begin, long nanos, long worked, int at) {
      line.append(kind).append('\t').append(begin).append('\t').append(nanos);
      line.append('\t').append(worked).append('\t').append(Long.toHexString(events[at + 2]));
      return line.append('\t').append(events[at + 3]);
    }

    private static StringBuilder frame(StringBuilder line, Program.Step step, Name name) {
      line.append("\t0\t0\t").append(step.round).append('\t').append(step.firstChunk);
      return line.append('\t').append(name.members[step.peer]).append('\t');
    }

    private void named(StringBuilder line, int index) {
      String name = index < texts.size() ? texts.get(index) : "another call";
      line.append(name, 0, Math.min(name.length(), LONGEST_NAME)).append('\n');
    }

    private void append(StringBuilder line, int at) {
      int kind = (int) (events[at + 4] & 0xff);
      boolean isCall = kind <= QUEUED;
      boolean isFrame = kind == SEND || kind == RECEIVE;
      begin(line, KINDS[kind], events[at], events[at + 1], events[at + 7], at);
      line.append('\t').append(events[at + 4] >>> 8 & 0xff);
      line.append('\t').append(isCall ? 0 : (int) events[at + 5]);
      line.append('\t').append(isCall ? 0 : events[at + 5] >> 32);
      line.append('\t').append(isFrame ? events[at + 6] >> 32 : 0);
      line.append('\t').append(events[at + 4] >> 32);
      line.append('\t').append(isFrame ? events[at + 6] & LOW : events[at + 6]);
      line.append('\t');
      if (isCall) {
        named(line, (int) events[at + 5]);
      } else {
        line.append((events[at + 4] & VIEW) != 0 ? "shared memory\n" : "\n");
      }
    }
  }
}
