package io.collectives.engine;

import io.collectives.engine.run.Call;
import io.collectives.engine.run.Engine;
import java.util.Arrays;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/**
 * The events of this library in recordings of the JDK's Flight Recorder. All but failures are off
 * unless the settings of a recording switch them on; the file {@code collectives.jfc} beside this
 * class does.
 *
 * <p>Each event is a class of its own, which is loaded when a recording is made, and never in a
 * Java runtime without the module {@code jdk.jfr}.
 */
final class Jfr {
  private static final boolean IS_HERE = isHere();

  private Jfr() {}

  /** A module that does not read that of the events finds no class of it. */
  private static boolean isHere() {
    return ModuleLayer.boot()
        .findModule("jdk.jfr")
        .filter(Jfr.class.getModule()::canRead)
        .isPresent();
  }

  /**
   * Returns whether there has been a recording. Else the classes of events are not loaded: the
   * first one registers itself with the recorder, for which a hundred classes more are loaded.
   */
  private static boolean isUsed() {
    return IS_HERE && FlightRecorder.isInitialized();
  }

  /** An event that has begun. */
  interface Begun {
    /** Ends it and gives it to the recordings. */
    void finish();
  }

  /** Returns whether a recording has calls. */
  static boolean recordsCalls() {
    return isUsed() && CallEvent.TYPE.isEnabled();
  }

  /**
   * Begins the event of a call for which this thread is about to wait.
   *
   * @param rank of the job
   */
  static Begun call(int rank, Call call) {
    return new CallEvent(rank, call, false);
  }

  /** Records a call that has ended and that no thread of the user's waited for. */
  static void asynchronous(int rank, Call call) {
    new CallEvent(rank, call, true).finish();
  }

  /** Begins the event that a rank waits in a call, if it does and a recording has that. */
  static @Nullable Begun waiting(int rank, Engine engine) {
    return isUsed() && WaitEvent.TYPE.isEnabled() && engine.waitedFor() >= 0
        ? new WaitEvent(rank, engine)
        : null;
  }

  /** Records that groups have broken. */
  static void failure(int rank, String message) {
    if (isUsed()) {
      new FailureEvent(rank, message).commit();
    }
  }

  /** Begins the event that a rank tunes, if a recording has that. */
  static @Nullable Tuning tuning(int rank) {
    return isUsed() && TuningEvent.TYPE.isEnabled() ? new TuningEvent(rank) : null;
  }

  /** An event of tuning that has begun. */
  interface Tuning {
    /** Ends it and gives it to the recordings, with what was found. */
    void found(String rows);
  }

  /** Records that a group was made, if a recording has that. */
  static void group(int rank, long id, int[] members) {
    if (isUsed() && GroupEvent.TYPE.isEnabled()) {
      new GroupEvent(rank, id, members).commit();
    }
  }

  @Name("io.collectives.Call")
  @Label("Collective Call")
  @Category("Collectives")
  @Description("A call of a collective, from when its caller begins to wait for it to its end")
  @Enabled(false)
  @StackTrace
  private static final class CallEvent extends Event implements Begun {
    static final CallEvent TYPE = new CallEvent();

    @Label("Rank")
    int rank;

    @Label("Call")
    String call = "";

    @Label("Group")
    String group = "";

    @Label("Sequence")
    long sequence;

    @Label("Payload")
    @DataAmount
    long bytes;

    @Label("Time")
    @Description("From the submission of the call to its end")
    @Timespan
    long time;

    @Label("Asynchronous")
    @Description("Nobody waited for it when it ended, so the stack trace is the library's")
    boolean asynchronous;

    /** No part of the event. */
    private final transient long startNanos;

    private CallEvent() {
      startNanos = 0;
    }

    CallEvent(int rank, Call call, boolean asynchronous) {
      this.rank = rank;
      this.call = call.toString();
      this.group = Long.toHexString(call.group().id());
      this.sequence = call.sequence();
      this.bytes = call.bytes();
      this.asynchronous = asynchronous;
      this.startNanos = call.startNanos();
      begin();
    }

    @Override
    public void finish() {
      end();
      if (shouldCommit()) {
        time = System.nanoTime() - startNanos;
        commit();
      }
    }
  }

  @Name("io.collectives.Wait")
  @Label("Collective Wait")
  @Category("Collectives")
  @Description("A rank waits in a call for another rank")
  @Enabled(false)
  @Threshold("1 ms")
  @StackTrace(false)
  private static final class WaitEvent extends Event implements Begun {
    static final WaitEvent TYPE = new WaitEvent();

    @Label("Rank")
    int rank;

    @Label("Waits For Rank")
    int peer;

    @Label("Call")
    String call = "";

    private WaitEvent() {}

    WaitEvent(int rank, Engine engine) {
      this.rank = rank;
      this.peer = engine.waitedFor();
      this.call = engine.waitedIn();
      begin();
    }

    @Override
    public void finish() {
      end();
      commit();
    }
  }

  @Name("io.collectives.Failure")
  @Label("Collective Failure")
  @Category("Collectives")
  @Description("A group has broken, and its calls end with an exception")
  @StackTrace(false)
  private static final class FailureEvent extends Event {
    @Label("Rank")
    int rank;

    @Label("Message")
    String message;

    FailureEvent(int rank, String message) {
      this.rank = rank;
      this.message = message;
    }
  }

  @Name("io.collectives.Tuning")
  @Label("Collective Tuning")
  @Category("Collectives")
  @Description("Communicator.tune has measured the algorithms of a group")
  @Enabled(false)
  private static final class TuningEvent extends Event implements Tuning {
    static final TuningEvent TYPE = new TuningEvent(-1);

    @Label("Rank")
    int rank;

    @Label("Rows")
    @Description("The sizes for which another algorithm was found to be faster than the usual one")
    String rows = "";

    TuningEvent(int rank) {
      this.rank = rank;
      begin();
    }

    @Override
    public void found(String found) {
      rows = found;
      commit();
    }
  }

  @Name("io.collectives.Group")
  @Label("Collective Group")
  @Category("Collectives")
  @Description("A group of ranks was made")
  @Enabled(false)
  private static final class GroupEvent extends Event {
    static final GroupEvent TYPE = new GroupEvent(-1, 0, new int[0]);

    @Label("Rank")
    int rank;

    @Label("Group")
    String group;

    @Label("Members")
    String members;

    GroupEvent(int rank, long id, int[] members) {
      this.rank = rank;
      this.group = Long.toHexString(id);
      this.members = Arrays.toString(members);
    }
  }
}
