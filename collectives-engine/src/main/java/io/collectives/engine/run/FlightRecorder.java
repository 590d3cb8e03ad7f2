package io.collectives.engine.run;

import io.collectives.ElementType;
import java.time.Instant;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Remembers the last calls of a rank, to be read after a failure.
 *
 * <p>As text: comment lines that begin with {@code #}, a line of column names, and a line for each
 * call, oldest first, with tabs between. Times are wall-clock milliseconds since 1970, so that the
 * records of several ranks can be laid side by side. Nothing is allocated for a call.
 */
final class FlightRecorder {
  /** The number of calls that are remembered. */
  static final int CALLS = 256;

  private static final String COLUMNS =
      "rank\tgroup\tmembers\tsequence\tcollective\talgorithm\top\ttype\tcount\tbytes\tstate\tbegun"
          + "\tended\tdetail\tawaited\tsite\n";

  private final int rank;
  private final int size;
  private final LongSupplier clock;
  private final Entry[] entries = new Entry[CALLS];
  private long recorded;

  FlightRecorder(int rank, int size, LongSupplier clock) {
    this.rank = rank;
    this.size = size;
    this.clock = clock;
    for (int i = 0; i < CALLS; i++) {
      entries[i] = new Entry();
    }
  }

  /** A call has been numbered. */
  void begun(Call call) {
    call.flight = recorded++;
    entries[(int) (call.flight % CALLS)].begin(call);
  }

  /** A call has ended. */
  void ended(Call call, @Nullable Failure why, long now) {
    if (call.flight >= 0) {
      Entry entry = entries[(int) (call.flight % CALLS)];
      if (entry.call == call) { // Else it was under way for longer than is remembered.
        entry.call = null;
        entry.failure = why;
        entry.endNanos = now;
      }
      call.flight = -1;
    }
  }

  /** Returns the entry of the call of a group that ended last, as far as it is remembered. */
  @Nullable Entry lastEnded(Group group) {
    Entry last = null;
    for (long i = Math.max(0, recorded - CALLS); i < recorded; i++) {
      Entry entry = entries[(int) (i % CALLS)];
      if (entry.group == group
          && entry.call == null
          && (last == null || entry.endNanos - last.endNanos >= 0)) {
        last = entry;
      }
    }
    return last;
  }

  /** Returns the record as text; it names the ranks that calls under way wait for. */
  String text(Inbound[] inbound) {
    long now = clock.getAsLong();
    long wallMillis = System.currentTimeMillis();
    StringBuilder text = new StringBuilder();
    text.append("# flight record of rank ")
        .append(rank)
        .append(" of ")
        .append(size)
        .append(" at ")
        .append(Instant.ofEpochMilli(wallMillis))
        .append(", the last ")
        .append(Math.min(recorded, CALLS))
        .append(" of ")
        .append(recorded)
        .append(" calls\n")
        .append(COLUMNS);
    for (long i = Math.max(0, recorded - CALLS); i < recorded; i++) {
      entries[(int) (i % CALLS)].append(text, rank, now, wallMillis, inbound);
    }
    return text.toString();
  }

  /** The entry of one call. */
  static final class Entry {
    /** While it is under way or waits for its turn. */
    @Nullable Call call;

    private @Nullable Group group;
    private @Nullable Program program;
    private long sequence;
    private String site = "";
    private String op = "";
    private ElementType type = ElementType.FLOAT32;
    private long count;
    private long beginNanos;
    private long endNanos;
    private @Nullable Failure failure;

    void begin(Call begun) {
      call = begun;
      group = begun.group;
      program = begun.program;
      sequence = begun.sequence;
      site = begun.site;
      op = begun.op.toString();
      type = begun.input.type();
      count = begun.count();
      beginNanos = begun.startNanos;
      failure = null;
    }

    /** Appends the call, which has ended: what it was, what it took, and when it ended. */
    void appendEnded(StringBuilder text, long now) {
      Program of = Objects.requireNonNull(program);
      text.append('\t').append(sequence);
      text.append('\t').append(of.collective).append('\t').append(of.algorithm.name());
      text.append('\t').append(type).append('\t').append(count * type.bytes());
      // An end has the time of the poll before it, which may have been before the beginning.
      text.append('\t').append(Math.max(0, endNanos - beginNanos) / 1_000);
      text.append('\t').append(Math.max(0, now - endNanos) / 1_000);
    }

    void append(StringBuilder text, int rank, long now, long wallMillis, Inbound[] inbound) {
      Group group = Objects.requireNonNull(this.group);
      Program program = Objects.requireNonNull(this.program);
      text.append(rank).append('\t').append(Long.toHexString(group.id)).append('\t');
      for (int i = 0; i < group.size(); i++) {
        text.append(i == 0 ? "" : ",").append(group.members[i]);
      }
      text.append('\t').append(sequence);
      text.append('\t').append(program.collective);
      text.append('\t').append(program.algorithm.name());
      text.append('\t').append(op);
      text.append('\t').append(type);
      text.append('\t').append(count);
      text.append('\t').append(count * type.bytes());
      text.append('\t').append(state());
      text.append('\t').append(wallMillis - (now - beginNanos) / 1_000_000);
      text.append('\t');
      if (call == null) {
        text.append(wallMillis - (now - endNanos) / 1_000_000);
      }
      text.append('\t').append(detail(now, inbound).replaceAll("[\\t\\r\\n]", " "));
      text.append('\t').append(awaited(inbound));
      text.append('\t').append(site).append('\n');
    }

    /** The rank of the job that the call waits for, or for want of which it failed, else empty. */
    private String awaited(Inbound[] inbound) {
      Call present = call;
      Failure why = failure;
      if (present != null) {
        return present.group.waiting.contains(present)
            ? ""
            : "" + present.group.members[Waiting.member(present, inbound)];
      }
      return why != null && (why.isLoss() || why.isLate()) ? "" + why.culprit() : "";
    }

    private String state() {
      Call present = call;
      if (present != null) {
        return present.group.waiting.contains(present) ? "queued" : "running";
      }
      return failure == null ? "done" : "failed";
    }

    private String detail(long now, Inbound[] inbound) {
      Call present = call;
      Failure why = failure;
      if (present != null && !present.group.waiting.contains(present)) {
        return Waiting.describe(present, now, inbound);
      }
      return why == null ? "" : why.message();
    }
  }
}
