package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CallTimeoutException;
import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.MismatchException;
import io.collectives.ProtocolException;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Survivors;
import io.collectives.internal.CallFingerprint;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameHeader.Kind;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.testkit.ForwardingLink;
import io.collectives.testkit.ForwardingTransport;
import io.collectives.testkit.RankThreads;
import io.collectives.testkit.WrappedJobs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ObjIntConsumer;
import java.util.function.ObjLongConsumer;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A rank of three has been admitted and sends protocol errors: each field of each kind of frame is
 * given each kind of value that it cannot have. The others must end with an error that names the
 * sender, or, where the field means nothing in such a frame, with the right result.
 *
 * <p>Each case is a job of its own; several run at once, and all that fail are told together.
 */
@Timeout(120)
@Tag("once")
final class HostilePeerTest {
  private static final int RANKS = 3;
  private static final int COUNT = 300;
  private static final int FRAME_LENGTH = 256;
  private static final int JOBS_AT_ONCE = 6;

  /** The call, counted in its group, of which the frames are wrong. */
  private static final long CALL = 1;

  /** The number of the group of all ranks. */
  private static final long WORLD = 1;

  /** Stands for the number of another group of the same ranks. */
  private static final long OTHER_GROUP = Long.MAX_VALUE;

  private static final CallSettings CALLS =
      CallSettings.defaults()
          .withAlgorithm(Algorithm.ring())
          .withFrameLength(FRAME_LENGTH)
          .withTimeout(Duration.ofSeconds(3));

  private static final Pattern RANK = Pattern.compile("rank (\\d+)");

  @TempDir private Path directory;

  /** The end that a job must have. */
  private enum Expected {
    /** A wrong frame is found as soon as it is there. */
    ERROR,
    /**
     * It could be a frame that is right but early, of a call or group to come; so at the deadline
     * the sender is named, which owes what it should have sent.
     */
    ERROR_OR_LATE,
    /** A frame is missing, and what the sender says of itself may be a lie: all end in time. */
    LATE,
    /** The field need not be looked at, or the frame may be right; but if so the job is, too. */
    ANYTHING_RIGHT
  }

  /** The calls that are made when a wrong frame comes. */
  private enum Scene {
    /** They take a sum; a transfer is changed. */
    SUM,
    /** They take a sum; a frame is sent beside what belongs to it. */
    BESIDE_SUM,
    /** They take a broadcast. */
    BROADCAST,
    /** The hostile rank aborts, while the others take a sum. */
    ABORT,
    /** They agree on the survivors of a group. */
    SHRINK
  }

  /**
   * A way to be hostile.
   *
   * @param kind of the frames that are changed, or sent beside
   */
  private record Case(
      String name, Scene scene, Kind kind, Consumer<FrameHeader> change, Expected expected) {
    @Override
    public String toString() {
      return scene + ", " + kind + ", " + name;
    }
  }

  private static final class Cases {
    final List<Case> list = new ArrayList<>();
    private final Scene scene;
    private final Kind kind;

    Cases(Scene scene, Kind kind) {
      this.scene = scene;
      this.kind = kind;
    }

    Cases add(String name, Expected expected, Consumer<FrameHeader> change) {
      list.add(new Case(name, scene, kind, change, expected));
      return this;
    }

    Cases word(
        String name,
        ToLongFunction<FrameHeader> get,
        ObjLongConsumer<FrameHeader> set,
        Expected expected,
        long... values) {
      for (long value : values) {
        add(name + "=" + value, expected, h -> set.accept(h, value));
      }
      add(name + "^", expected, h -> set.accept(h, get.applyAsLong(h) ^ 0x5555_0000_5555_0000L));
      return this;
    }

    Cases number(
        String name,
        ToIntFunction<FrameHeader> get,
        ObjIntConsumer<FrameHeader> set,
        Expected expected) {
      for (int value : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
        add(name + "=" + value, expected, h -> set.accept(h, value));
      }
      add(name + "+1", expected, h -> set.accept(h, get.applyAsInt(h) + 1));
      return this;
    }

    Cases sequence(Expected stale, Expected future) {
      add("sequence=-1", Expected.ERROR, h -> h.sequence = -1);
      add("sequence=-16", Expected.ERROR, h -> h.sequence = -16);
      add("sequence=min", Expected.ERROR, h -> h.sequence = Long.MIN_VALUE);
      add("sequence, stale", stale, h -> h.sequence = CALL - 1);
      add("sequence+1", future, h -> h.sequence = CALL + 1);
      add("sequence=max", future, h -> h.sequence = Long.MAX_VALUE);
      return this;
    }

    Cases group(Expected expected) {
      word("group", h -> h.group, (h, v) -> h.group = v, expected, 0, -1, Long.MIN_VALUE);
      return this;
    }

    /** All that tells of a transfer. */
    Cases transfer(Expected expected) {
      number("slab", h -> h.slab, (h, v) -> h.slab = v, expected);
      return restOfTransfer(expected);
    }

    Cases restOfTransfer(Expected expected) {
      number("lane", h -> h.lane, (h, v) -> h.lane = v, expected);
      number("round", h -> h.round, (h, v) -> h.round = v, expected);
      number("firstChunk", h -> h.firstChunk, (h, v) -> h.firstChunk = v, expected);
      number("chunkCount", h -> h.chunkCount, (h, v) -> h.chunkCount = v, expected);
      return this;
    }

    Cases tag(Expected expected) {
      return word("tag", h -> h.tag, (h, v) -> h.tag = v, expected, -1, 3, Long.MIN_VALUE);
    }

    Cases call(Expected expected) {
      for (int i = 0; i < CallFingerprint.WORDS; i++) {
        int word = i;
        word("call[" + i + "]", h -> h.call[word], (h, v) -> h.call[word] = v, expected, -1);
      }
      return this;
    }

    Cases lengths(int... lengths) {
      for (int length : lengths) {
        add("length=" + length, Expected.ERROR, h -> h.length = length);
      }
      return this;
    }

    Cases kinds(Map<Kind, Expected> expected) {
      expected.forEach((other, end) -> add("kind=" + other, end, h -> h.kind = other));
      return this;
    }
  }

  @Test
  void transfers() throws Exception {
    run(
        new Cases(Scene.SUM, Kind.DATA)
            .kinds(
                Map.of(
                    Kind.FAILURE, Expected.ERROR,
                    Kind.HEARTBEAT, Expected.ERROR,
                    Kind.AGREEMENT, Expected.ERROR,
                    Kind.ECHO, Expected.ERROR,
                    Kind.WAITING, Expected.ERROR))
            .group(Expected.ERROR_OR_LATE)
            .add("group, another one", Expected.ERROR_OR_LATE, h -> h.group = OTHER_GROUP)
            .sequence(Expected.ERROR, Expected.ERROR_OR_LATE)
            .transfer(Expected.ERROR)
            .tag(Expected.ERROR)
            .call(Expected.ERROR)
            .lengths(-1, Integer.MIN_VALUE, 0, 4, FRAME_LENGTH + 8, 1 << 20));
  }

  @Test
  void echoes() throws Exception {
    run(
        new Cases(Scene.BROADCAST, Kind.ECHO)
            .kinds(
                Map.of(
                    Kind.DATA, Expected.ERROR,
                    Kind.FAILURE, Expected.ERROR,
                    Kind.HEARTBEAT, Expected.LATE,
                    Kind.AGREEMENT, Expected.ERROR,
                    Kind.WAITING, Expected.LATE))
            .group(Expected.ERROR)
            .sequence(Expected.ERROR, Expected.ERROR)
            .number("slab", h -> h.slab, (h, v) -> h.slab = v, Expected.ERROR)
            .restOfTransfer(Expected.ANYTHING_RIGHT)
            .tag(Expected.ANYTHING_RIGHT)
            .call(Expected.ERROR)
            .lengths(-1, 8, 1 << 20));
  }

  @Test
  void words() throws Exception {
    run(
        new Cases(Scene.BESIDE_SUM, Kind.WAITING)
            .kinds(
                Map.of(
                    Kind.DATA, Expected.ERROR,
                    Kind.FAILURE, Expected.ERROR,
                    Kind.HEARTBEAT, Expected.ANYTHING_RIGHT,
                    Kind.AGREEMENT, Expected.ERROR,
                    Kind.ECHO, Expected.ERROR))
            .group(Expected.ANYTHING_RIGHT)
            .sequence(Expected.ANYTHING_RIGHT, Expected.ANYTHING_RIGHT)
            .transfer(Expected.ANYTHING_RIGHT)
            .tag(Expected.ANYTHING_RIGHT)
            .call(Expected.ERROR)
            .lengths(-1, 8, 1 << 20));
  }

  @Test
  void beats() throws Exception {
    run(
        new Cases(Scene.BESIDE_SUM, Kind.HEARTBEAT)
            .kinds(
                Map.of(
                    Kind.FAILURE, Expected.ERROR,
                    Kind.AGREEMENT, Expected.ERROR,
                    Kind.ECHO, Expected.ERROR))
            .group(Expected.ANYTHING_RIGHT)
            .sequence(Expected.ANYTHING_RIGHT, Expected.ANYTHING_RIGHT)
            .transfer(Expected.ANYTHING_RIGHT)
            .tag(Expected.ANYTHING_RIGHT)
            .call(Expected.ANYTHING_RIGHT)
            .lengths(-1, 8, 1 << 20));
  }

  @Test
  void notices() throws Exception {
    run(
        new Cases(Scene.ABORT, Kind.FAILURE)
            .kinds(
                Map.of(
                    Kind.DATA, Expected.ERROR,
                    Kind.HEARTBEAT, Expected.ERROR,
                    Kind.AGREEMENT, Expected.ERROR,
                    Kind.ECHO, Expected.ERROR,
                    Kind.WAITING, Expected.ERROR))
            .group(Expected.ERROR_OR_LATE)
            .sequence(Expected.ERROR, Expected.ERROR)
            .transfer(Expected.ERROR)
            .tag(Expected.ERROR)
            .call(Expected.ERROR)
            .lengths(-1, 0, 8, 23, 2000, 1 << 20));
  }

  @Test
  void ballots() throws Exception {
    run(
        new Cases(Scene.SHRINK, Kind.AGREEMENT)
            .kinds(
                Map.of(
                    Kind.DATA, Expected.ANYTHING_RIGHT,
                    Kind.FAILURE, Expected.ANYTHING_RIGHT,
                    Kind.HEARTBEAT, Expected.ANYTHING_RIGHT,
                    Kind.ECHO, Expected.ANYTHING_RIGHT,
                    Kind.WAITING, Expected.ANYTHING_RIGHT))
            .group(Expected.ANYTHING_RIGHT)
            .sequence(Expected.ANYTHING_RIGHT, Expected.ANYTHING_RIGHT)
            .transfer(Expected.ANYTHING_RIGHT)
            .tag(Expected.ANYTHING_RIGHT)
            .call(Expected.ANYTHING_RIGHT)
            .lengths(-1, 0, 8, 2000, 1 << 20));
  }

  /** The decoder of bytes lies between; the engine's part is the same. */
  @Test
  void overTcp() throws Exception {
    List<Case> cases = new ArrayList<>();
    cases.addAll(
        new Cases(Scene.SUM, Kind.DATA)
            .kinds(Map.of(Kind.FAILURE, Expected.ERROR, Kind.HEARTBEAT, Expected.ERROR))
            .add("sequence=-1", Expected.ERROR, h -> h.sequence = -1)
            .add("round=max", Expected.ERROR, h -> h.round = Integer.MAX_VALUE)
            .add("slab=-1", Expected.ERROR, h -> h.slab = -1)
            .lengths(0, FRAME_LENGTH + 8)
            .list);
    cases.addAll(new Cases(Scene.BROADCAST, Kind.ECHO).lengths(8).list);
    cases.addAll(new Cases(Scene.ABORT, Kind.FAILURE).lengths(0, 2000).list);
    cases.addAll(new Cases(Scene.BESIDE_SUM, Kind.HEARTBEAT).lengths(8).list);
    List<String> wrong = new ArrayList<>();
    for (int i = 0; i < cases.size(); i++) {
      int hostile = cases.get(i).scene == Scene.BROADCAST ? 1 : i % RANKS;
      wrong.addAll(check(cases.get(i), hostile, this::tcp));
    }
    assertEquals(List.of(), wrong);
  }

  /** Opens a job. */
  private interface Opening {
    List<Communicator> open(UnaryOperator<Transport> wrapping) throws Exception;
  }

  private static void run(Cases cases) throws Exception {
    ExecutorService jobs = Executors.newFixedThreadPool(JOBS_AT_ONCE);
    try {
      List<Future<List<String>>> ends = new ArrayList<>();
      for (int i = 0; i < cases.list.size(); i++) {
        Case one = cases.list.get(i);
        int hostile = i % RANKS;
        ends.add(
            jobs.submit(
                () ->
                    check(
                        one,
                        one.scene == Scene.BROADCAST ? 1 : hostile,
                        wrapping -> WrappedJobs.inProcess(RANKS, CALLS, wrapping))));
      }
      List<String> wrong = new ArrayList<>();
      for (Future<List<String>> end : ends) {
        wrong.addAll(end.get());
      }
      if (!wrong.isEmpty()) {
        fail(
            wrong.size()
                + " outcomes of "
                + cases.list.size()
                + " cases are wrong:\n  "
                + String.join("\n  ", wrong));
      }
    } finally {
      jobs.shutdownNow();
    }
  }

  private List<Communicator> tcp(UnaryOperator<Transport> wrapping) throws Exception {
    Path place = Files.createTempDirectory(directory, "rendezvous");
    ExecutorService joining = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<Communicator>> joined = new ArrayList<>();
      for (int rank = 0; rank < RANKS; rank++) {
        JobSettings settings =
            JobSettings.of(rank, RANKS, place.toUri()).withTransport("tcp").withCalls(CALLS);
        joined.add(joining.submit(() -> WrappedJobs.join(settings, wrapping)));
      }
      List<Communicator> worlds = new ArrayList<>();
      for (Future<Communicator> world : joined) {
        worlds.add(world.get(30, TimeUnit.SECONDS));
      }
      return worlds;
    } finally {
      joining.shutdown();
    }
  }

  /** Runs a job with one hostile rank; returns what is wrong about its end. */
  private static List<String> check(Case one, int hostile, Opening opening) throws Exception {
    CountDownLatch entered = new CountDownLatch(RANKS - 1);
    CyclicBarrier quiet = new CyclicBarrier(RANKS);
    Tampering tampering = new Tampering(one);
    List<Communicator> worlds =
        opening.open(
            transport ->
                transport.rank() == hostile
                    ? new HostileTransport(transport, tampering)
                    : new EnteringTransport(transport, entered));
    List<@Nullable Throwable> ends;
    try {
      ends = RankThreads.outcomes(worlds, world -> play(one, world, hostile, entered, quiet));
    } catch (AssertionError hang) {
      return List.of(one + " by rank " + hostile + ": " + hang.getMessage());
    } finally {
      worlds.forEach(Communicator::close);
    }
    List<String> wrong = new ArrayList<>();
    if (!tampering.hit) {
      wrong.add("there was no such frame");
    }
    boolean someFailed = false;
    boolean someEndedWell = false;
    for (int rank = 0; rank < RANKS; rank++) {
      Throwable end = ends.get(rank);
      if (rank == hostile) {
        if (end != null && !(end instanceof CollectiveException)) {
          wrong.add("the hostile rank itself ends with " + end);
        }
        continue;
      }
      String what = judge(one, hostile, end);
      if (what != null) {
        wrong.add("rank " + rank + " " + what);
      }
      someFailed |= end != null;
      someEndedWell |= end == null;
    }
    if (someFailed && someEndedWell) {
      wrong.add("some ranks end well, others do not: " + ends);
    }
    return wrong.stream().map(what -> one + " by rank " + hostile + ": " + what).toList();
  }

  /** Returns what is wrong about how an innocent rank has ended. */
  private static @Nullable String judge(Case one, int hostile, @Nullable Throwable end) {
    if (end == null) {
      return one.expected == Expected.ANYTHING_RIGHT || one.scene == Scene.SHRINK
          ? null
          : "ends well";
    }
    if (!(end instanceof CollectiveException)) {
      return "ends with " + end;
    }
    if (one.expected == Expected.LATE && end instanceof CallTimeoutException) {
      return null;
    }
    int named = named(end, hostile);
    if (named != hostile) {
      return "names rank " + named + ": " + end;
    }
    return end instanceof CallTimeoutException && one.expected != Expected.ERROR_OR_LATE
        ? "learns it at the deadline only: " + end
        : null;
  }

  private static int named(Throwable end, int hostile) {
    if (end instanceof AbortedException aborted) {
      return aborted.worldRank();
    }
    if (end instanceof RankFailedException failed) {
      return failed.worldRank();
    }
    if (end instanceof CallTimeoutException late) {
      return late.worldRank();
    }
    String message = String.valueOf(end.getMessage());
    if (end instanceof MismatchException && message.contains("rank " + hostile)) {
      return hostile; // It names both.
    }
    Matcher matcher = RANK.matcher(message);
    return end instanceof ProtocolException && matcher.find()
        ? Integer.parseInt(matcher.group(1))
        : -1;
  }

  /** Does the part of a rank. */
  private static void play(
      Case one, Communicator world, int hostile, CountDownLatch entered, CyclicBarrier quiet)
      throws Exception {
    boolean isHostile = world.rank() == hostile;
    sum(world.group(0, 1, 2)); // Another group, whose number the hostile rank sees.
    sum(world);
    switch (one.scene) {
      case SUM, BESIDE_SUM -> {
        if (isHostile) {
          assertTrue(entered.await(20, TimeUnit.SECONDS));
        }
        sum(world);
        sum(world);
      }
      case BROADCAST -> {
        float[] values = new float[COUNT];
        Arrays.fill(values, world.rank() + 1);
        world.broadcast(values, 0);
        assertEquals(1, values[COUNT - 1]);
        sum(world);
      }
      case ABORT -> {
        if (isHostile) {
          assertTrue(entered.await(20, TimeUnit.SECONDS));
          world.abort("planted");
        }
        sum(world);
      }
      case SHRINK -> {
        quiet.await(); // Nobody is in a call any more.
        world.abort("planted");
        Survivors survivors = world.within(Duration.ofSeconds(2)).shrink();
        if (!isHostile) {
          assertTrue(
              survivors.lost().equals(List.of(hostile))
                  || survivors.lost().isEmpty() && one.expected != Expected.ERROR,
              survivors.toString());
        }
        sum(survivors.group());
      }
    }
  }

  private static void sum(Communicator group) {
    float[] values = new float[COUNT];
    Arrays.fill(values, 2);
    group.checkingFinite().allReduce(values, ReduceOp.SUM);
    for (float value : values) {
      assertEquals(2f * group.size(), value);
    }
  }

  /** Tells when this rank has entered the call in question. */
  private static final class EnteringTransport extends CopyingTransport {
    private final CountDownLatch entered;
    private boolean told;

    EnteringTransport(Transport inner, CountDownLatch entered) {
      super(inner);
      this.entered = entered;
    }

    @Override
    boolean trySend(Link to, FrameHeader header, FrameBody body) {
      boolean accepted = to.trySend(header, body);
      if (accepted && header.kind == Kind.DATA && header.sequence == CALL && !told) {
        told = true;
        entered.countDown();
      }
      return accepted;
    }
  }

  /** The frame that is sent instead, and whether it was. */
  private static final class Tampering {
    private final Case one;
    private volatile boolean hit;
    private long otherGroup;

    Tampering(Case one) {
      this.one = one;
    }

    /**
     * Returns whether a frame is the one that is changed, or the one before which another is sent.
     */
    boolean concerns(FrameHeader header) {
      if (header.kind == Kind.DATA && header.group != WORLD) {
        otherGroup = header.group;
        return false;
      }
      return switch (one.scene) {
        case SUM, BESIDE_SUM -> !hit && header.kind == Kind.DATA && header.sequence == CALL;
        case BROADCAST -> !hit && header.kind == Kind.ECHO && header.sequence == CALL;
        case ABORT, SHRINK -> header.kind == one.kind;
      };
    }

    FrameHeader changed(FrameHeader header) {
      FrameHeader changed = new FrameHeader();
      if (one.kind == Kind.WAITING) {
        changed.group = header.group;
        changed.sequence = header.sequence;
        System.arraycopy(header.call, 0, changed.call, 0, CallFingerprint.WORDS);
      } else if (one.kind != Kind.HEARTBEAT) {
        changed.copyFrom(header);
      }
      changed.kind = one.kind;
      one.change.accept(changed);
      changed.group = changed.group == OTHER_GROUP ? otherGroup : changed.group;
      return changed;
    }
  }

  /** Sends wrong frames. */
  private static final class HostileTransport extends CopyingTransport {
    private final Tampering tampering;

    HostileTransport(Transport inner, Tampering tampering) {
      super(inner);
      this.tampering = tampering;
    }

    @Override
    boolean trySend(Link to, FrameHeader header, FrameBody body) {
      if (!tampering.concerns(header)) {
        return to.trySend(header, body);
      }
      FrameHeader changed = tampering.changed(header);
      if (tampering.one.scene == Scene.BESIDE_SUM) {
        tampering.hit |= to.trySend(changed, new Zeros(changed.length));
        return tampering.hit && to.trySend(header, body);
      }
      if (!to.trySend(
          changed, changed.length == header.length ? body : new Zeros(changed.length))) {
        return false;
      }
      if (changed.length != header.length) {
        body.release();
      }
      tampering.hit = true;
      return true;
    }
  }

  /** A body of any length. */
  private record Zeros(int length) implements FrameBody {
    @Override
    public void store(FrameBytes target, int at) {
      target.bytes().put(at, new byte[length]);
    }

    @Override
    public void release() {}
  }

  /** Gives its owner bytes only, so that any body may be sent. */
  private abstract static class CopyingTransport extends ForwardingTransport {
    private final Map<Integer, Link> links = new ConcurrentHashMap<>();

    CopyingTransport(Transport inner) {
      super(inner);
    }

    abstract boolean trySend(Link to, FrameHeader header, FrameBody body);

    @Override
    public Link link(int peer) {
      return links.computeIfAbsent(
          peer,
          other ->
              new ForwardingLink(inner.link(other)) {
                @Override
                public boolean trySend(FrameHeader header, FrameBody body) {
                  return CopyingTransport.this.trySend(inner, header, body);
                }
              });
    }
  }
}
