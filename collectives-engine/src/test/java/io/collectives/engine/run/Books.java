package io.collectives.engine.run;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The counted entries of an engine. By reflection, and here only: the engine has no use for these
 * numbers itself.
 */
final class Books {
  /** The numbers of entries, by what they are. */
  private final Map<String, Long> entries = new LinkedHashMap<>();

  private Books() {}

  static Books of(Engine engine) {
    Books books = new Books();
    Object calls = field(engine, "calls");
    Object failures = field(engine, "failures");
    Object held = field(engine, "heldFrames");
    books.put("groups", ((Calls) calls).groups().size());
    books.put("calls under way", ((Calls) calls).underWay().size());
    books.put("groups with room", size(calls, "withRoom"));
    books.put("ended calls", size(calls, "ended"));
    books.put("held bytes", (long) field(held, "heldBytes"));
    books.put("held frames", engine.held());
    books.put("early frames", size(held, "early"));
    books.put("copies", size(field(engine, "sender"), "lingering"));
    books.put("departures", size(failures, "departures"));
    books.put("agreements", size(failures, "agreements"));
    books.put("early notices", size(field(failures, "early"), "notices"));
    books.put("control messages", size(field(failures, "messages"), "messages"));
    books.put("questions", size(field(failures, "lateness"), "open"));
    return books;
  }

  /** Returns how many frames an engine holds for later whose calls it has not entered. */
  static int earlyFrames(Engine engine) {
    return size(field(engine, "heldFrames"), "early");
  }

  /** Returns how many notices an engine holds for later. */
  static int earlyNotices(Engine engine) {
    return size(field(field(engine, "failures"), "early"), "notices");
  }

  static int groups(Engine engine) {
    return ((Calls) field(engine, "calls")).groups().size();
  }

  private void put(String what, long count) {
    entries.put(what, count);
  }

  /** Returns whether there is nothing but so many groups. */
  boolean hold(int groups) {
    return entries.entrySet().stream()
        .allMatch(entry -> entry.getValue() == (entry.getKey().equals("groups") ? groups : 0));
  }

  private static int size(Object of, String name) {
    Object all = field(of, name);
    return all instanceof ArrayDeque<?> deque ? deque.size() : ((Collection<?>) all).size();
  }

  private static Object field(Object of, String name) {
    try {
      Field field = of.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return field.get(of);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(name + " of " + of.getClass().getSimpleName(), e);
    }
  }

  @Override
  public String toString() {
    return entries.toString();
  }
}
