package io.collectives.engine.status;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * The stack traces of the threads of this process that may be of interest to its user: not those of
 * the JVM, nor those of this library, nor those of pools that have nothing to do. As text:
 *
 * <pre>
 * threads  how-many-follow  how-many-are-left-out
 * thread   state  name
 * at       class.method(File.java:12)
 * cut      how many frames are left out
 * </pre>
 */
final class Stacks {
  private static final int MOST_THREADS = 24;
  private static final int MOST_FRAMES = 40;
  private static final int LONGEST_NAME = 200;

  /** The methods in which threads of pools wait for something to do. */
  private static final List<String> IDLE =
      List.of(
          "java.util.concurrent.ThreadPoolExecutor.getTask",
          "java.util.concurrent.ForkJoinPool.awaitWork");

  private static final Comparator<Thread> MAIN_FIRST =
      Comparator.comparing((Thread thread) -> !thread.getName().equals("main"))
          .thenComparing(Thread::isDaemon)
          .thenComparing(Thread::getId);

  private Stacks() {}

  static void append(StringBuilder text) {
    Map<Thread, StackTraceElement[]> all = Thread.getAllStackTraces();
    List<Map.Entry<Thread, StackTraceElement[]>> shown = new ArrayList<>();
    for (Map.Entry<Thread, StackTraceElement[]> entry : all.entrySet()) {
      StackTraceElement[] frames = entry.getValue();
      if (isOfTheUser(entry.getKey()) && frames.length > 0 && !isIdle(frames)) {
        shown.add(entry);
      }
    }
    shown.sort(Map.Entry.comparingByKey(MAIN_FIRST));
    int count = Math.min(shown.size(), MOST_THREADS);
    text.append("threads\t").append(count).append('\t').append(all.size() - count).append('\n');
    for (Map.Entry<Thread, StackTraceElement[]> entry : shown.subList(0, count)) {
      append(text, entry.getKey(), entry.getValue());
    }
  }

  private static void append(StringBuilder text, Thread thread, StackTraceElement[] frames) {
    text.append("thread\t").append(thread.getState()).append('\t');
    text.append(clean(thread.getName())).append('\n');
    for (int i = 0; i < Math.min(frames.length, MOST_FRAMES); i++) {
      text.append("at\t").append(clean(describe(frames[i]))).append('\n');
    }
    if (frames.length > MOST_FRAMES) {
      text.append("cut\t").append(frames.length - MOST_FRAMES).append('\n');
    }
  }

  /** Without names of modules and class loaders, which hide those of methods. */
  private static String describe(StackTraceElement frame) {
    String method = frame.getClassName() + "." + frame.getMethodName();
    if (frame.isNativeMethod()) {
      return method + "(native)";
    }
    String file = frame.getFileName();
    if (file == null) {
      return method + "(unknown)";
    }
    int line = frame.getLineNumber();
    return method + "(" + file + (line < 0 ? ")" : ":" + line + ")");
  }

  private static String clean(String name) {
    String some = name.length() > LONGEST_NAME ? name.substring(0, LONGEST_NAME) + "…" : name;
    return some.replaceAll("\\p{Cntrl}", " ");
  }

  /** The JVM has its own threads in other groups than that of the program. */
  private static boolean isOfTheUser(Thread thread) {
    ThreadGroup group = thread.getThreadGroup();
    return group != null
        && group.getParent() != null
        && !group.getName().equals("InnocuousThreadGroup")
        && !thread.getName().startsWith("collectives-")
        && !thread.getName().equals("DestroyJavaVM");
  }

  private static boolean isIdle(StackTraceElement[] frames) {
    for (StackTraceElement frame : frames) {
      if (IDLE.contains(frame.getClassName() + "." + frame.getMethodName())) {
        return true;
      }
    }
    return false;
  }
}
