package io.collectives.bench;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The layers of a package, as lists of its top-level classes: a class may know those of its own
 * layer and of lower ones. Each class of the package is in one layer.
 */
final class Layers extends ArchCondition<JavaClass> {
  private final List<String> names = new ArrayList<>();
  private final Map<String, Integer> layers = new HashMap<>();
  private final Set<String> missing = new HashSet<>();

  private Layers() {
    super("know lower layers only");
  }

  /** The condition with a lowest layer. */
  static Layers fromBelow(String name, String... classes) {
    return new Layers().then(name, classes);
  }

  /** Returns these layers with one more above them. */
  Layers then(String name, String... classes) {
    for (String simpleName : classes) {
      if (layers.put(simpleName, names.size()) != null) {
        throw new IllegalArgumentException(simpleName + " is in two layers");
      }
    }
    names.add(name);
    return this;
  }

  @Override
  public void init(Collection<JavaClass> classes) {
    missing.addAll(layers.keySet());
  }

  @Override
  public void check(JavaClass item, ConditionEvents events) {
    String name = simpleName(item);
    missing.remove(name);
    Integer layer = layers.get(name);
    if (layer == null) {
      events.add(SimpleConditionEvent.violated(item, name + " is in no layer"));
      return;
    }
    for (Dependency dependency : item.getDirectDependenciesFromSelf()) {
      JavaClass target = dependency.getTargetClass().getBaseComponentType();
      Integer other = layers.get(simpleName(target));
      if (target.getPackageName().equals(item.getPackageName()) && other != null && other > layer) {
        events.add(
            SimpleConditionEvent.violated(
                item,
                String.format(
                    "layer \"%s\" knows layer \"%s\": %s",
                    names.get(layer), names.get(other), dependency.getDescription())));
      }
    }
  }

  @Override
  public void finish(ConditionEvents events) {
    for (String name : missing) {
      events.add(SimpleConditionEvent.violated(name, name + " is in a layer, but not there"));
    }
  }

  private static String simpleName(JavaClass item) {
    String name = Circles.topLevel(item);
    return name.substring(name.lastIndexOf('.') + 1);
  }
}
