package io.collectives.engine.report;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/** The garbage collections of this process that stop the program. */
public final class GarbageCollection {
  /** Collectors that run beside the program have a bean for their cycles, too. */
  private static final List<GarbageCollectorMXBean> STOPPING =
      ManagementFactory.getGarbageCollectorMXBeans().stream()
          .filter(bean -> !bean.getName().endsWith("Cycles"))
          .toList();

  private GarbageCollection() {}

  /** Returns the beans of the collectors that stop the program. */
  public static List<GarbageCollectorMXBean> collectors() {
    return STOPPING;
  }

  /** Returns how many milliseconds they have taken since the process started. */
  public static long millis() {
    return STOPPING.stream().mapToLong(bean -> Math.max(0, bean.getCollectionTime())).sum();
  }

  /** Returns how many there were since the process started. */
  public static long collections() {
    return STOPPING.stream().mapToLong(bean -> Math.max(0, bean.getCollectionCount())).sum();
  }
}
