package io.collectives.engine.report;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/**
 * The time that garbage collections have taken in this process. It needs the module
 * java.management, which programs on the module path may lack; then there is none.
 */
final class GarbageCollection {
  private static final boolean IS_KNOWN =
      ModuleLayer.boot().findModule("java.management").isPresent();

  private GarbageCollection() {}

  /** Returns the milliseconds of all collections that stop the program; 0 if nobody knows. */
  static long millis() {
    return IS_KNOWN ? Beans.millis() : 0;
  }

  /** Returns the number of collections; 0 if nobody knows. */
  static long collections() {
    return IS_KNOWN ? Beans.collections() : 0;
  }

  /** A class of its own, so that nothing of that module is loaded where it is not. */
  private static final class Beans {
    private static final List<GarbageCollectorMXBean> STOPPING =
        ManagementFactory.getGarbageCollectorMXBeans().stream()
            .filter(bean -> !bean.getName().contains("Cycles")) // They run beside the program.
            .toList();

    static long millis() {
      long sum = 0;
      for (GarbageCollectorMXBean bean : STOPPING) {
        sum += Math.max(0, bean.getCollectionTime());
      }
      return sum;
    }

    static long collections() {
      long sum = 0;
      for (GarbageCollectorMXBean bean : STOPPING) {
        sum += Math.max(0, bean.getCollectionCount());
      }
      return sum;
    }
  }
}
