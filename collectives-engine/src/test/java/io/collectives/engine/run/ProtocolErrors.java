package io.collectives.engine.run;

import io.collectives.CollectiveException;
import io.collectives.ProtocolException;
import io.collectives.internal.FrameCodec;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameHeader.Kind;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A rank that was admitted to a job and sends one frame, or many, of which something makes no
 * sense: a field of the header or of a notice that is negative, huge, of the past, of the far
 * future, or of another group. Whoever gets it names that rank, and so do all others that fail for
 * it; nobody waits for a deadline.
 */
final class ProtocolErrors implements SimulatedNetwork.Tamper {
  private static final int NOTICE_BYTES = 1024;

  private final ScriptedSimulation simulation;
  private final Dice random;
  private final int sender;

  /** The rank that was sent it, -1 as long as none was. */
  private int receiver = -1;

  /** The frame, for people. */
  private String what = "nothing";

  /** If true, the receiver must fail. */
  private boolean mustFail;

  ProtocolErrors(ScriptedSimulation simulation, int sender) {
    this.simulation = simulation;
    this.random = simulation.random;
    this.sender = sender;
  }

  boolean hasStruck() {
    return receiver >= 0;
  }

  /** Returns whether an error without a rank says that it is about the sender. */
  boolean isNamedBy(CollectiveException error) {
    return String.valueOf(error.getMessage()).matches("(?s).*\\brank " + sender + "\\b.*");
  }

  void check() {
    if (mustFail && simulation.rank(receiver).error == null) {
      simulation.fail("rank " + receiver + " did not mind " + what);
    }
  }

  @Override
  public void before(Link link, int to, FrameSink sink) {
    ScriptedSimulation.Rank victim = simulation.rank(to);
    if (hasStruck()) {
      return;
    }
    Group group = commonGroup(victim);
    if (group == null) {
      return;
    }
    Frame frame = frame(victim, group);
    if (frame == null) {
      return;
    }
    receiver = to;
    what = frame.times + " times " + frame.what + ": " + frame.header;
    mustFail = frame.mustFail;
    simulation.tell("rank " + sender + " sends rank " + to + " " + what);
    for (int i = 0; i < frame.times; i++) {
      if (!give(link, sink, frame)) {
        break;
      }
      if (frame.steps) {
        frame.header.sequence++;
      }
    }
    checkBounds(victim.engine);
  }

  /** Gives a frame as a transport does. Returns whether more may come. */
  private boolean give(Link link, FrameSink sink, Frame frame) {
    try {
      frame.header.check(sender, receiver);
    } catch (ProtocolException e) {
      simulation.network.refuse(sender, receiver);
      sink.lost(link, e);
      return false;
    }
    sink.header(link, frame.header);
    if (frame.body.length > 0) {
      ByteBuffer padded = ByteBuffer.allocate(frame.body.length + 7 & ~7).put(frame.body);
      sink.bytes(link, new FrameBytes(padded), 0, frame.body.length);
    }
    return true;
  }

  /** Checks that the frames that an engine holds take less than it says, their headers included. */
  private void checkBounds(Engine engine) {
    long held =
        (long) FrameCodec.HEADER_LENGTH * Books.earlyFrames(engine)
            + (long) NOTICE_BYTES * Books.earlyNotices(engine);
    long limit = engine.memoryLimit() + 256L * NOTICE_BYTES;
    if (held > limit) {
      simulation.fail(
          "rank "
              + receiver
              + " holds "
              + held
              + " bytes after "
              + what
              + ", the limit is "
              + limit);
    }
  }

  private @Nullable Group commonGroup(ScriptedSimulation.Rank of) {
    Group[] common = new Group[of.groups.length];
    int count = 0;
    for (Group group : of.groups) {
      if (group != null
          && group.rankOf(sender) >= 0
          && group.broken == null
          && of.isToCallIn(group)) {
        common[count++] = group;
      }
    }
    return count == 0 ? null : common[random.nextInt(count)];
  }

  private @Nullable Group foreignGroup(ScriptedSimulation.Rank of) {
    for (Group group : of.groups) {
      if (group != null
          && group.rankOf(sender) < 0
          && group.broken == null
          && of.isToCallIn(group)) {
        return group;
      }
    }
    return null;
  }

  private static final class Frame {
    final FrameHeader header = new FrameHeader();
    byte[] body = {};
    String what = "";
    boolean mustFail = true;
    int times = 1;

    /** If true, each frame is of the next call. */
    boolean steps;

    Frame body(byte[] bytes) {
      body = bytes;
      header.length = bytes.length;
      return this;
    }

    Frame is(String name) {
      what = name;
      return this;
    }

    Frame mayPass() {
      mustFail = false;
      return this;
    }
  }

  private @Nullable Frame frame(ScriptedSimulation.Rank to, Group group) {
    Frame frame = new Frame();
    frame.header.group = group.id;
    Group foreign = foreignGroup(to);
    if (foreign != null && random.nextBoolean()) {
      return foreign(frame, foreign);
    }
    return switch (random.nextInt(7)) {
      case 0 -> ofCallUnderWay(to, group, frame);
      case 1 -> ofWrongCall(group, frame);
      case 2 -> heartbeat(frame);
      case 3 -> failure(group, frame);
      case 4 -> ballot(group, frame);
      case 5 -> echoOfUnknownGroup(frame);
      default -> many(group, frame);
    };
  }

  private Frame foreign(Frame frame, Group foreign) {
    frame.header.group = foreign.id;
    frame.header.sequence = foreign.nextSequence();
    frame.header.kind =
        random.any(Kind.DATA, Kind.ECHO, Kind.WAITING, Kind.FAILURE, Kind.AGREEMENT);
    if (frame.header.kind == Kind.FAILURE) {
      frame.body(notice(Failure.Kind.ABORTED.ordinal(), sender, sender, 0, 0, "elsewhere"));
    } else if (frame.header.kind == Kind.AGREEMENT) {
      frame.body(ballot(foreign.size(), 0, foreign.size(), 0, 0, -1, 0));
    }
    return frame.is("a frame of a group that it is no member of");
  }

  /** Makes one field of the next transfer of a call wrong. */
  private @Nullable Frame ofCallUnderWay(ScriptedSimulation.Rank to, Group group, Frame frame) {
    Call call = to.callUnderWay(group);
    int member = group.rankOf(sender);
    if (call == null || call.isInline) {
      return null;
    }
    FrameHeader header = frame.header;
    header.sequence = call.sequence;
    header.slab = call.firstOpen;
    header.tag = Finding.NONE;
    int peer = call.program.peerIndex(member);
    Program.Step step = null;
    if (peer >= 0) {
      LaneRun lane = call.run(call.firstOpen).lanes[0];
      Program.Step[] steps = lane.lane.receives[peer];
      int next = lane.nextReceive[peer];
      step = next < steps.length ? steps[next] : null;
    }
    if (step != null) {
      header.round = step.round;
      header.firstChunk = step.firstChunk;
      header.chunkCount = step.chunkCount;
      frame.body(new byte[call.frameLength(step, call.firstOpen)]);
    }
    System.arraycopy(call.fingerprintFrom(member), 0, header.call, 0, header.call.length);
    int invalid = random.any(-1, Integer.MIN_VALUE, Integer.MAX_VALUE, 1_000_000);
    int field = random.nextInt(9);
    switch (field) {
      case 0 -> header.slab = invalid;
      case 1 -> header.lane = invalid;
      case 2 -> header.round = invalid;
      case 3 -> header.firstChunk = invalid;
      case 4 -> header.chunkCount = invalid;
      case 5 -> frame.body(new byte[header.length + 8]);
      case 6 -> header.call[random.nextInt(header.call.length)] ^= 1L << random.nextInt(64);
      case 7 -> {
        header.kind = Kind.ECHO;
        header.slab = invalid;
        frame.body(new byte[0]);
      }
      default -> {
        header.kind = random.any(Kind.WAITING, Kind.ECHO);
        frame.body(new byte[random.any(4, 8, 24)]);
      }
    }
    return frame.is("a frame of a call under way, field " + field);
  }

  /** The call is one that cannot be under way. */
  private Frame ofWrongCall(Group group, Frame frame) {
    FrameHeader header = frame.header;
    header.kind = random.any(Kind.DATA, Kind.ECHO, Kind.WAITING);
    header.chunkCount = 1;
    header.tag = Finding.NONE;
    long ended = group.completed() - 1;
    boolean wasEnded = random.nextBoolean() && ended >= 0 && header.kind != Kind.WAITING;
    header.sequence =
        wasEnded
            ? ended
            : random.any(-1L, Long.MIN_VALUE, Long.MAX_VALUE, group.nextSequence() + 1_000_000);
    if (header.kind == Kind.DATA && random.nextBoolean()) {
      frame.body(new byte[8]);
    }
    return frame.is("a frame of call " + header.sequence + " after " + group.nextSequence());
  }

  private Frame heartbeat(Frame frame) {
    frame.header.group = 0;
    frame.header.kind = Kind.HEARTBEAT;
    return frame.body(new byte[random.any(1, 8, 2000)]).is("a heartbeat with a body");
  }

  private Frame echoOfUnknownGroup(Frame frame) {
    frame.header.group = random.nextLong();
    frame.header.kind = Kind.ECHO;
    return frame.is("an echo in a group that nobody has made");
  }

  private Frame failure(Group group, Frame frame) {
    frame.header.kind = Kind.FAILURE;
    int kind = random.any(Failure.Kind.DEAD, Failure.Kind.ABORTED, Failure.Kind.LATE).ordinal();
    int nobody = random.any(-7, simulation.size, Integer.MAX_VALUE, Integer.MIN_VALUE);
    byte[] right = notice(kind, sender, sender, 0, 0, "planted");
    byte[] body =
        switch (random.nextInt(9)) {
          case 0 -> new byte[0];
          case 1 -> new byte[random.any(1, 8, 23)];
          case 2 -> new byte[2000];
          case 3 -> notice(random.any(-1, 99), sender, sender, 0, 0, "planted");
          case 4 -> notice(kind, nobody, sender, 0, 0, "planted");
          case 5 -> notice(kind, sender, nobody, 0, 0, "planted");
          case 6 -> notice(kind, sender, sender, random.any(-1, 8, 1 << 30), 0, "planted");
          case 7 -> notice(Failure.Kind.CLOSED.ordinal(), sender, sender, 0, 0, "planted");
          default -> Arrays.copyOf(right, right.length - 1);
        };
    return frame.body(body).is("a notice that makes no sense");
  }

  private Frame ballot(Group group, Frame frame) {
    frame.header.kind = Kind.AGREEMENT;
    int members = group.size();
    byte[] body =
        switch (random.nextInt(6)) {
          case 0 -> new byte[0];
          case 1 -> new byte[random.any(1, 8, 40)];
          case 2 -> new byte[4000];
          case 3 -> ballot(members, random.any(-1, 99), members, 0, 0, -1, 0);
          case 4 -> ballot(members, 0, random.any(-1, members + 1, 1 << 30), 0, 0, -1, 0);
          default -> ballot(members, 0, members, 0, 0, -1, 1L << 63);
        };
    return frame.body(body).is("a ballot that makes no sense");
  }

  /** Frames that might be right, more than anybody has room for. */
  private Frame many(Group group, Frame frame) {
    frame.header.chunkCount = 1;
    frame.times = 6_000;
    int kind = random.nextInt(3);
    if (kind == 0) {
      frame.header.group = random.nextLong();
      return frame.is("a frame without a body, of an unknown group");
    }
    if (kind == 1) {
      frame.header.sequence = group.nextSequence() + 1;
      return frame.is("a frame without a body, of a call to come");
    }
    frame.header.group = random.nextLong();
    frame.header.kind = Kind.FAILURE;
    frame.body(notice(Failure.Kind.ABORTED.ordinal(), sender, sender, 0, 0, "planted"));
    return frame.mayPass().is("a notice of an unknown group");
  }

  private static byte[] notice(
      int kind, int reporter, int culprit, int more, long sequence, String message) {
    byte[] text = message.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(24 + text.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(kind)
        .putInt(reporter)
        .putInt(culprit)
        .putInt(text.length + more)
        .putLong(sequence)
        .put(text)
        .array();
  }

  private static byte[] ballot(
      int members, int kind, int said, long number, long completed, long resumeAt, long failed) {
    return ByteBuffer.allocate(32 + 3 * ((members + 63) / 64 * 8))
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(kind)
        .putInt(said)
        .putLong(number)
        .putLong(completed)
        .putLong(resumeAt)
        .putLong(failed)
        .array();
  }

  @Override
  public String toString() {
    return "rank " + sender + " sent rank " + receiver + " " + what;
  }
}
