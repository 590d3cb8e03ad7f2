package io.collectives.bench;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A limit for the classes of a package that reach each other in circles. Only top-level classes
 * count; what a nested class depends on, its top-level class does.
 */
final class Circles extends ArchCondition<JavaClass> {
  private final int most;

  /** By top-level class: those of its package that it depends on. */
  private final Map<String, Set<String>> dependencies = new TreeMap<>();

  private Circles(int most) {
    super("form no circle of more than %d in their package", most);
    this.most = most;
  }

  /** Returns the condition that no circle is larger than some number. */
  static ArchCondition<JavaClass> ofAtMost(int most) {
    return new Circles(most);
  }

  @Override
  public void init(Collection<JavaClass> classes) {
    dependencies.clear();
  }

  @Override
  public void check(JavaClass item, ConditionEvents events) {
    String from = topLevel(item);
    Set<String> known = dependencies.computeIfAbsent(from, name -> new TreeSet<>());
    for (Dependency dependency : item.getDirectDependenciesFromSelf()) {
      JavaClass target = dependency.getTargetClass().getBaseComponentType();
      if (target.getPackageName().equals(item.getPackageName()) && !topLevel(target).equals(from)) {
        known.add(topLevel(target));
      }
    }
  }

  @Override
  public void finish(ConditionEvents events) {
    Set<String> seen = new HashSet<>();
    for (String name : dependencies.keySet()) {
      if (seen.contains(name)) {
        continue;
      }
      Set<String> circle = new TreeSet<>(reachable(name));
      circle.removeIf(other -> !reachable(other).contains(name));
      seen.addAll(circle);
      if (circle.size() > most) {
        events.add(
            SimpleConditionEvent.violated(
                circle, circle.size() + " classes in one circle: " + circle));
      }
    }
  }

  /** All that a class depends on, itself included. */
  private Set<String> reachable(String name) {
    Set<String> reached = new HashSet<>(Set.of(name));
    Deque<String> open = new ArrayDeque<>(reached);
    while (!open.isEmpty()) {
      for (String next : dependencies.getOrDefault(open.remove(), Set.of())) {
        if (reached.add(next)) {
          open.add(next);
        }
      }
    }
    return reached;
  }

  /** The name of the class that a class is nested in, or of itself. */
  static String topLevel(JavaClass of) {
    JavaClass top = of;
    while (top.getEnclosingClass().isPresent()) {
      top = top.getEnclosingClass().get();
    }
    return top.getName();
  }
}
