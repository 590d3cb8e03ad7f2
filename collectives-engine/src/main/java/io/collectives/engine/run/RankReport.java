package io.collectives.engine.run;

import io.collectives.spi.Transport;
import java.util.List;

/**
 * Describes a rank at this moment, for another process that asks: its links, groups and calls, and
 * for whom each call waits. As text: a line for each, a word for its kind first, tabs between.
 *
 * <pre>
 * link   peer transport frames-sent bytes-sent frames-received bytes-received
 * group  id members calls-begun state detail
 * last   group sequence collective algorithm type bytes micros-taken micros-since
 * call   group sequence collective algorithm op type bytes state micros-since-begin awaited detail
 * held   frames bytes limit
 * more   how many lines of groups and calls were left out
 * </pre>
 *
 * <p>Ranks are those of the job. {@code members} is {@code *} for the group of all; {@code awaited}
 * is {@code -} where a call waits for its turn.
 */
final class RankReport {
  private static final int MOST_GROUPS = 64;
  private static final int MOST_CALLS = 64;
  private static final int MOST_DETAIL = 400;

  private final Transport transport;
  private final Calls calls;
  private final FlightRecorder recorder;
  private final Inbound[] inbound;
  private final long now;
  private final StringBuilder text = new StringBuilder();
  private int callsTold;
  private int leftOut;

  RankReport(
      Transport transport, Calls calls, FlightRecorder recorder, Inbound[] inbound, long now) {
    this.transport = transport;
    this.calls = calls;
    this.recorder = recorder;
    this.inbound = inbound;
    this.now = now;
  }

  String text(HeldFrames held) {
    links();
    int groups = 0;
    for (Group group : calls.groups()) {
      if (groups++ < MOST_GROUPS) {
        group(group);
      } else {
        leftOut++;
      }
    }
    text.append("held\t").append(held.held()).append('\t').append(held.heldBytes());
    text.append('\t').append(held.limit()).append('\n');
    if (leftOut > 0) {
      text.append("more\t").append(leftOut).append('\n');
    }
    return text.toString();
  }

  private void links() {
    Traffic traffic = calls.traffic();
    for (int peer = 0; peer < transport.size(); peer++) {
      if (traffic.isUsed(peer)) {
        text.append("link\t").append(peer).append('\t').append(transport.nameOf(peer));
        traffic.append(text, peer);
        text.append('\n');
      }
    }
  }

  private void group(Group group) {
    begin("group", group);
    if (group.isWorld()) {
      text.append("\t*");
    } else {
      for (int i = 0; i < group.size(); i++) {
        text.append(i == 0 ? '\t' : ',').append(group.members[i]);
      }
    }
    Failure why = group.broken == null ? group.cause : group.broken;
    text.append('\t').append(group.nextSequence).append('\t');
    text.append(why == null ? "whole" : "broken").append('\t');
    detail(why == null ? "" : why.message());
    last(group);
    List<Call> underWay = calls.underWay();
    for (int i = 0; i < underWay.size(); i++) {
      if (underWay.get(i).group == group) {
        call(underWay.get(i), "running");
      }
    }
    for (Call call : group.waiting) {
      call(call, "queued");
    }
    for (Call call : group.stopped) {
      call(call, "stopped");
    }
  }

  private void last(Group group) {
    FlightRecorder.Entry last = recorder.lastEnded(group);
    if (last != null) {
      begin("last", group);
      last.appendEnded(text, now);
      text.append('\n');
    }
  }

  private void call(Call call, String state) {
    if (callsTold++ >= MOST_CALLS) {
      leftOut++;
      return;
    }
    begin("call", call.group);
    text.append('\t').append(call.sequence);
    text.append('\t').append(call.program.collective);
    text.append('\t').append(call.program.algorithm.name());
    text.append('\t').append(clean(call.op.toString()));
    text.append('\t').append(call.input.type());
    text.append('\t').append(call.count() * call.input.type().bytes());
    text.append('\t').append(state);
    text.append('\t').append((now - call.startNanos) / 1_000).append('\t');
    if (state.equals("running") && call.program.peers.length > 0) {
      text.append(call.group.members[Waiting.member(call, inbound)]).append('\t');
      detail(Waiting.describe(call, now, inbound));
    } else {
      text.append("-\t\n");
    }
  }

  private void begin(String kind, Group group) {
    text.append(kind).append('\t').append(Long.toHexString(group.id));
  }

  private void detail(String words) {
    text.append(clean(words)).append('\n');
  }

  /** Users name ops, and errors may hold anything. */
  private static String clean(String words) {
    String some = words.length() > MOST_DETAIL ? words.substring(0, MOST_DETAIL) + "…" : words;
    return some.replaceAll("\\p{Cntrl}", " ");
  }
}
