package io.collectives.engine;

import io.collectives.engine.report.GarbageCollection;
import io.collectives.engine.run.TraceLog;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import javax.management.ListenerNotFoundException;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;
import org.jspecify.annotations.Nullable;

/**
 * Records the pauses of the garbage collector until it is closed. The JVM tells of them after they
 * are over, on a thread of its own, in milliseconds since its start.
 */
final class GcPauses implements NotificationListener, AutoCloseable {
  /** The type of a notification, and the names of what it holds; see its documentation. */
  private static final String PAUSE = "com.sun.management.gc.notification";

  private final TraceLog trace;
  private final List<NotificationEmitter> emitters = new ArrayList<>();

  /** The time on the clock of events at which the JVM started. */
  private final long jvmStartNanos;

  GcPauses(TraceLog trace) {
    this.trace = trace;
    long uptimeMillis = ManagementFactory.getRuntimeMXBean().getUptime();
    this.jvmStartNanos = System.nanoTime() - uptimeMillis * 1_000_000;
    for (GarbageCollectorMXBean bean : GarbageCollection.collectors()) {
      if (bean instanceof NotificationEmitter emitter) {
        emitter.addNotificationListener(this, null, null);
        emitters.add(emitter);
      }
    }
  }

  @Override
  public void handleNotification(Notification notification, @Nullable Object handback) {
    if (PAUSE.equals(notification.getType())
        && notification.getUserData() instanceof CompositeData pause
        && pause.get("gcInfo") instanceof CompositeData times
        && times.get("startTime") instanceof Long start
        && times.get("duration") instanceof Long millis) {
      trace.mark(
          new TraceLog.Mark(
              "gc",
              jvmStartNanos + start * 1_000_000,
              millis * 1_000_000,
              pause.get("gcName") + ", " + pause.get("gcCause")));
    }
  }

  @Override
  public void close() {
    for (NotificationEmitter emitter : emitters) {
      try {
        emitter.removeNotificationListener(this);
      } catch (ListenerNotFoundException e) {
        throw new IllegalStateException(e); // It was added above.
      }
    }
    emitters.clear();
  }
}
