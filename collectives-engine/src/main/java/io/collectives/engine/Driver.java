package io.collectives.engine;

import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.CommunicatorClosedException;
import io.collectives.NonFiniteException;
import io.collectives.Statistics;
import io.collectives.Trace;
import io.collectives.engine.choice.Placement;
import io.collectives.engine.run.Call;
import io.collectives.engine.run.Engine;
import io.collectives.engine.run.Group;
import io.collectives.engine.run.Service;
import io.collectives.engine.status.StatusServer;
import io.collectives.engine.status.StatusSource;
import io.collectives.internal.Log;
import io.collectives.spi.MemoryFaults;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.StatusRequests;
import io.collectives.spi.Transport;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Shares one engine between the threads that need it.
 *
 * <p>An engine is driven by whoever waits: a thread that has made a call takes the lock and polls
 * until its call is over, which saves the hand-over to another thread (two wake-ups, tens of
 * microseconds). Threads that find the lock taken wait for their call and take over when the first
 * driver leaves. Asynchronous calls that nobody waits for are driven by a daemon thread, which lets
 * go as soon as somebody does; {@link ProgressPace} says when it looks. Every few milliseconds it
 * looks in, so that peers that connect or die are noticed.
 *
 * <p>A driver lets go of the lock when another thread {@linkplain WantedLock#isWanted wants} it, so
 * that a call can always be submitted.
 *
 * <p>One class because all of it shares the lock, and who may have it is one question.
 */
final class Driver implements StatusSource, AutoCloseable {
  private static final Log LOG = Log.of(Driver.class);

  /** The looks for a message between two polls, which take about as long as a poll. */
  private static final int LOOKS = 32;

  private static final long TAKE_OVER_NANOS = 50_000;
  private static final String INTERRUPTED = "a thread that waited for a call was interrupted";
  private static final long CLOSE_JOIN_MILLIS = 2_000;
  private static final long CLOSE_NEWS_NANOS = 1_000_000_000;

  private final Engine engine;
  private final Transport transport;
  private final @Nullable MemoryLeases leases;
  private final MemoryFaults memoryFaults;
  private final Idle idle;
  private final FlightLog flightLog;
  private final Tracing tracing;
  private final RequestedTrace requestedTrace = new RequestedTrace(this);
  private final WantedLock lock;
  private final Thread background;
  private final ProgressPace pace;

  private volatile boolean closed;

  /** True while the background thread drives. */
  private volatile boolean inBackground;

  /** Of the background thread. */
  private int failuresSeen;

  private volatile @Nullable Alarm alarm;

  /** Null if other processes are not to ask what this rank does. */
  private @Nullable StatusServer status;

  Driver(Engine engine, Transport transport, boolean oversubscribed, CallSettings calls) {
    this.engine = engine;
    this.flightLog = new FlightLog(engine, transport.rank(), calls.flightDirectory());
    this.tracing = new Tracing(engine, transport.rank());
    if (calls.traceDirectory() != null) {
      tracing.begin(calls.traceDirectory());
    }
    this.transport = transport;
    this.lock = new WantedLock(transport::wakeup);
    this.leases = MemoryLeases.ofAll(transport);
    this.memoryFaults = MemoryFaults.of(transport);
    this.idle = new Idle(engine, transport, oversubscribed);
    engine.lookForCallSites(calls.callSites());
    this.background = new Thread(this::run, "collectives-rank" + transport.rank() + "-progress");
    this.pace = new ProgressPace(background);
    background.setDaemon(true);
    background.start();
  }

  /** Returns the rank in the job. */
  int rank() {
    return transport.rank();
  }

  Engine engine() {
    return engine;
  }

  /** Returns the capability that makes regions, or null if the transport has none for all. */
  @Nullable MemoryLeases leases() {
    return leases;
  }

  /** Returns the hosts of the members of a group; see {@link Placement#of}. */
  Placement placement(int[] hosts, int[] members) {
    return Placement.of(transport, hosts, members);
  }

  /** Returns the names of the transports that carry frames. */
  List<String> transports() {
    return transport.names();
  }

  /** Returns the counters of the calls of this rank. */
  Statistics statistics() {
    List<Statistics.Row> rows;
    int failures;
    lock();
    try {
      rows = engine.statistics();
      failures = engine.failures();
    } finally {
      unlock();
    }
    return new Statistics(rows, failures, memoryLimit());
  }

  /** Returns the reasons for which the first groups have broken. */
  List<String> failureMessages() {
    lock();
    try {
      return engine.failureMessages();
    } finally {
      unlock();
    }
  }

  /** The most bytes that frames take in memory of the library. */
  @Override
  public long memoryLimit() {
    return engine.memoryLimit() + transport.memoryLimit();
  }

  @Override
  public @Nullable String report(long nanos) throws InterruptedException {
    if (!lock.tryLock(nanos)) {
      return null;
    }
    try {
      return engine.report();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public String flightRecord() {
    lock();
    try {
      return engine.flightRecord();
    } finally {
      unlock();
    }
  }

  @Override
  public void beginTrace(long nanos) {
    requestedTrace.begin(nanos);
  }

  @Override
  public @Nullable String takeTrace() {
    return requestedTrace.take();
  }

  /** Lets other processes ask what this rank does, until it is closed. */
  void answerBy(StatusServer server) {
    status = server;
    StatusRequests elsewhere = transport.capability(StatusRequests.class);
    if (elsewhere != null) {
      elsewhere.answerBy(server);
    }
    server.start();
  }

  /** Takes the engine for something short. To be followed by {@link #unlock} in a finally block. */
  void lock() {
    lock.lock();
  }

  void unlock() {
    lock.unlock();
  }

  /**
   * To be called with the lock held, when a call with a completion was started, or a service.
   *
   * @param byFrames false if the call goes inline
   */
  void submittedAsynchronous(boolean byFrames) {
    pace.begun(byFrames);
  }

  /** Why no call can be made in a group any more; nothing while it is whole. */
  @Nullable CollectiveException errorOf(Group group) {
    lock();
    try {
      return engine.errorOf(group);
    } finally {
      unlock();
    }
  }

  /**
   * Why no call can be made in a group any more, where that may be about to become known; nothing
   * if it is whole after so long, or this thread was interrupted.
   */
  @Nullable CollectiveException awaitError(Group group, long nanos) {
    if (!Thread.currentThread().isInterrupted()) {
      await(group, () -> errorOf(group) != null, System.nanoTime() + nanos);
    }
    return errorOf(group);
  }

  /** Has something done by the background thread, once, as soon as a group breaks. */
  void onBreak(Group group, Runnable action) {
    alarm = new Alarm(group, action);
  }

  /** Takes back {@link #onBreak}. */
  void forgetBreak() {
    alarm = null;
  }

  private record Alarm(Group group, Runnable action) {}

  private void raiseAlarm() {
    Alarm set = alarm;
    if (set != null && errorOf(set.group()) != null) {
      alarm = null;
      set.action().run();
    }
  }

  /** Drives, or lets others drive, until the call has ended. */
  void await(Call call) {
    pace.beginWaiting();
    try {
      drive(call);
    } finally {
      pace.endWaiting();
    }
  }

  /** Keeps the background thread asleep until {@link #endWaiting}. */
  void beginWaiting() {
    pace.beginWaiting();
  }

  /** The background thread goes on with what is left. */
  void endWaiting() {
    pace.endWaiting();
  }

  private void drive(Call call) {
    do {
      if (tryToDrive()) {
        boolean hasCompletions;
        try {
          driveLocked(call);
          hasCompletions = engine.hasCompletions();
        } finally {
          lock.unlock();
        }
        if (hasCompletions) {
          runCompletions();
        }
      } else {
        waitForTheLock(call.group());
      }
    } while (!call.isDone());
  }

  /** Takes the lock from the background thread, or if nobody has it. */
  private boolean tryToDrive() {
    if (!lock.isWanted() && lock.tryLock()) {
      return true;
    }
    if (!inBackground) {
      return false;
    }
    lock();
    return true;
  }

  /**
   * Drives a call that has just been started, with the lock held, as long as nobody else wants to.
   *
   * @return whether it has ended well and is given back; else it is to be {@linkplain #finish
   *     finished}
   */
  boolean runAtOnce(Call call) {
    if (Jfr.recordsCalls()) {
      return false;
    }
    pace.beginWaiting();
    try {
      driveLocked(call);
      boolean isOver =
          call.isDone()
              && !engine.hasCompletions()
              && call.error() == null
              && call.nonFinite() == null;
      if (isOver) {
        if (!memoryFaults.settle()) {
          throw lostMemory(call);
        }
        engine.recycle(call);
      }
      return isOver;
    } catch (InternalError e) {
      if (memoryFaults.lostMemory().isEmpty()) {
        throw e;
      }
      return false; // As in end.
    } finally {
      pace.endWaiting();
    }
  }

  private void driveLocked(Call call) {
    idle.begin();
    try {
      while (!call.isDone()
          && !engine.hasCompletions()
          && !lock.isWanted()
          && !isInterrupted(call.group())) {
        if (!look(call)) {
          idle.idle(poll());
        }
      }
    } finally {
      idle.finishEvent();
    }
  }

  private boolean look(Call call) {
    for (int i = 0; i < LOOKS && idle.isAlone() && call.isInlineUnderWay(); i++) {
      if (engine.look(call)) {
        return true;
      }
      Thread.onSpinWait();
    }
    return false;
  }

  /** Waits until a call has ended, gives it back and throws what is to be thrown. */
  void finish(Call call) {
    if (!Jfr.recordsCalls()) {
      end(call);
      return;
    }
    Jfr.Begun event = Jfr.call(transport.rank(), call);
    try {
      end(call);
    } finally {
      event.finish();
    }
  }

  private void end(Call call) {
    try {
      await(call);
    } catch (InternalError e) {
      if (memoryFaults.lostMemory().isEmpty()) {
        throw e;
      }
      await(call); // It came late, from what was done with that memory; see MemoryFaults.
    }
    CollectiveException error = call.error();
    NonFiniteException nonFinite = call.nonFinite();
    lock();
    try {
      if (!memoryFaults.settle() && error == null) {
        error = lostMemory(call);
      }
      engine.recycle(call);
    } finally {
      unlock();
    }
    if (error != null) {
      logFailures();
      throw error;
    }
    if (nonFinite != null) {
      throw nonFinite;
    }
  }

  /** To be called with the lock held. */
  private CollectiveException lostMemory(Call call) {
    crashAsMemoryIsLost();
    return Objects.requireNonNull(engine.errorOf(call.group()));
  }

  private void crashAsMemoryIsLost() {
    engine.crash(new InternalError("memory that was used is gone"));
  }

  /** To be asked with the lock held. An interrupted thread aborts what it waits for. */
  private boolean isInterrupted(Group group) {
    return Thread.currentThread().isInterrupted() && engine.interrupt(group, INTERRUPTED);
  }

  /** Somebody else drives. */
  private void waitForTheLock(Group group) {
    if (Thread.currentThread().isInterrupted()) {
      lock();
      try {
        engine.interrupt(group, INTERRUPTED);
      } finally {
        unlock();
      }
    }
    LockSupport.parkNanos(this, TAKE_OVER_NANOS);
  }

  /**
   * Drives, or lets others drive, until a condition holds that the engine, or the completion of a
   * call, brings about.
   *
   * @param group is aborted if the thread is interrupted
   * @param deadlineNanos on the clock of {@link System#nanoTime}, nothing if there is none
   * @return whether it holds
   */
  boolean await(Group group, BooleanSupplier condition, @Nullable Long deadlineNanos) {
    pace.beginWaiting();
    try {
      return drive(group, condition, deadlineNanos);
    } finally {
      pace.endWaiting();
    }
  }

  private boolean drive(Group group, BooleanSupplier condition, @Nullable Long deadlineNanos) {
    while (!condition.getAsBoolean()) {
      if (deadlineNanos != null && System.nanoTime() - deadlineNanos >= 0) {
        return false;
      }
      if (tryToDrive()) {
        boolean hasCompletions;
        try {
          for (int i = 0;
              i < 64
                  && !condition.getAsBoolean()
                  && !engine.hasCompletions()
                  && !lock.isWanted()
                  && !isInterrupted(group);
              i++) {
            idle.idle(poll());
          }
          hasCompletions = engine.hasCompletions();
        } finally {
          idle.finishEvent();
          lock.unlock();
        }
        if (hasCompletions) {
          runCompletions();
        }
      } else {
        waitForTheLock(group);
      }
    }
    return true;
  }

  private int poll() {
    pace.polled();
    try {
      return engine.poll();
    } catch (RuntimeException | Error e) {
      boolean explained = e instanceof InternalError && !memoryFaults.lostMemory().isEmpty();
      engine.crash(e);
      if (explained) {
        return 1; // Calls end with what it means.
      }
      throw e;
    }
  }

  /** Writes the records if something has failed. To be called without the lock. */
  void logFailures() {
    String news;
    Tracing.Traced traced = null;
    String failure = null;
    lock();
    try {
      boolean isNew = flightLog.hasNews();
      news = flightLog.news();
      if (isNew) {
        traced = tracing.soFar();
        failure = engine.lastFailure();
      }
    } finally {
      unlock();
    }
    if (failure != null) {
      Jfr.failure(transport.rank(), failure);
    }
    if (news != null) {
      flightLog.write(news);
    }
    if (traced != null) {
      tracing.tryToWrite(traced);
    }
  }

  /**
   * Begins to trace this rank. Any thread may call this.
   *
   * @param directory where the trace is written when it ends
   * @return the trace, which ends when it is closed
   * @throws IllegalStateException if this rank is traced already
   */
  Trace beginTrace(Path directory) {
    beginTracing(directory);
    return new RunningTrace(this, tracing);
  }

  /** Does the same for whoever ends it by {@link #endTrace}. */
  void beginTracing(@Nullable Path directory) {
    lock();
    try {
      if (closed) {
        throw new CommunicatorClosedException(
            "rank " + transport.rank() + " has closed its world: nothing is left to be traced");
      }
      tracing.begin(directory);
    } finally {
      unlock();
    }
  }

  /** Ends the trace of this rank and returns it; nothing if it is not traced. */
  Tracing.@Nullable Traced endTrace() {
    lock();
    try {
      return tracing.end();
    } finally {
      unlock();
    }
  }

  /** Runs what waits for the end of calls, without the lock, so that it may make calls itself. */
  void runCompletions() {
    while (pace.hasCalls()) {
      @Nullable Call call;
      @Nullable Service service = null;
      lock();
      try {
        call = engine.takeEnded();
        if (call == null) {
          service = engine.takeEndedService();
          if (service == null) {
            return;
          }
        }
        pace.ended(call == null || !call.isInline());
      } finally {
        unlock();
      }
      if (service != null) {
        service.runCompletion();
        continue;
      }
      if (Objects.requireNonNull(call).error() != null) {
        logFailures();
      }
      if (Jfr.recordsCalls()) {
        Jfr.asynchronous(transport.rank(), call);
      }
      call.runCompletion();
      lock();
      try {
        engine.recycle(call);
      } finally {
        unlock();
      }
    }
  }

  private void run() {
    boolean goesOn = false;
    while (!closed) {
      if (!goesOn) {
        pace.rest();
      }
      if (engine.failures() != failuresSeen) {
        failuresSeen = engine.failures();
        logFailures();
      }
      raiseAlarm();
      goesOn = !closed && driveInBackground() && pace.isLeft();
    }
  }

  /** Drives until somebody else wants to or nothing is left to do; returns whether it did. */
  private boolean driveInBackground() {
    if (lock.isWanted() || !pace.isItsTurn() || !lock.tryLock()) {
      return false;
    }
    try {
      inBackground = true;
      poll();
      while (pace.hasCalls() && !engine.hasCompletions() && !closed && !lock.isWanted()) {
        idle.idle(poll());
      }
      if (!memoryFaults.settle()) {
        crashAsMemoryIsLost(); // Nor shall the error come in a user's completion.
      }
    } catch (RuntimeException | Error e) {
      // The engine has failed every group with it; whoever makes or awaits a call gets it.
      LOG.error("rank {}: the progress thread hit an error", transport.rank(), e);
    } finally {
      inBackground = false;
      pace.drove();
      lock.unlock();
    }
    runCompletions();
    return true;
  }

  /** Ends all calls, leaves the job and frees everything. Closing again does nothing. */
  @Override
  public void close() {
    boolean interrupted = false;
    Tracing.Traced traced = endTrace();
    lock();
    try {
      if (!closed) {
        engine.close();
        tellNews();
        closed = true;
        transport.close();
      }
    } finally {
      unlock();
    }
    runCompletions();
    if (status != null) {
      status.close();
    }
    if (traced != null) {
      tracing.tryToWrite(traced);
    }
    LockSupport.unpark(background);
    if (Thread.currentThread() != background) {
      try {
        background.join(CLOSE_JOIN_MILLIS);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Peers must learn who failed before they see this rank leave, or they would blame this one; a
   * link that is full of frames may take the news only later.
   */
  private void tellNews() {
    long deadline = System.nanoTime() + CLOSE_NEWS_NANOS;
    do {
      poll();
      if (engine.hasNews()) {
        transport.await(Idle.SLEEP_NANOS);
      }
    } while (engine.hasNews() && System.nanoTime() - deadline < 0);
  }
}
