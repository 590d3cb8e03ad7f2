package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.internal.MemoryKernels.Ending;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.constant.ConstantDescs;
import java.lang.invoke.MethodHandles;
import java.util.Objects;

/**
 * The loop that reduces arrays of one Java type, which is nearly all that differs between types of
 * elements with an arithmetic of their own. Operands have equal indexes; {@link Elements} says why.
 *
 * <h2>One class for each kind</h2>
 *
 * A loop is fast only if the compiler knows its op, how many operands and results it has, and
 * whether it divides; written down, that would be hundreds of loops. So a subclass is a
 * <em>template</em> of one loop: {@linkplain Kind what it is for} is a constant that it asks for by
 * {@link #kind} when it is initialized, and {@link #of} loads the bytes of the template once for
 * each kind that is needed, as a hidden class. The just-in-time compiler leaves out what the
 * constants rule out, and each class has a profile of its own:
 *
 * <pre>
 *   float x = a[i];                            SUM of two, to one:    r[i] = a[i] + b[i];
 *   if (KIND.size() &gt; 1) x = OP.of(x, b[i]);
 *   if (KIND.size() &gt; 2) x = OP.of(x, c[i]);   AVERAGE of two, to both:
 *   ...                                          x = (a[i] + b[i]) * 0.5f; r[i] = x; s[i] = x;
 * </pre>
 *
 * <h2>Short ranges</h2>
 *
 * C2 does not unroll a loop beyond the number of turns that it saw while it collected profiles, and
 * does not vectorise what it does not unroll. A program that begins with thousands of one-element
 * calls would therefore be stuck with scalar loops for its gradients. So short ranges go through
 * classes of their own, and the vector loops see long ranges only.
 */
abstract class Loops {
  /** The most operands of a loop: with more arrays C2 does not vectorise it. */
  static final int MOST = 4;

  /**
   * The kind of loop that one class is for.
   *
   * @param size how many operands there are, {@link #MOST} at most
   * @param toAll whether as many results get the same; else there is one
   * @param isShort for ranges so short that they would spoil the profile of long ones
   */
  record Kind(
      ElementType type,
      ReduceOp.Standard op,
      Ending ending,
      int size,
      boolean toAll,
      boolean isShort) {}

  /** Loads a template once more, for a kind. */
  static Loops of(Class<? extends Loops> template, Kind kind) {
    String name = template.getName();
    String file = name.substring(name.lastIndexOf('.') + 1) + ".class";
    try (InputStream code = template.getResourceAsStream(file)) {
      byte[] bytes = Objects.requireNonNull(code, file).readAllBytes();
      return (Loops)
          MethodHandles.lookup()
              .defineHiddenClassWithClassData(bytes, kind, true)
              .lookupClass()
              .getDeclaredConstructor()
              .newInstance();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  /** The kind of a class that was loaded by {@link #of}. */
  static Kind kind(MethodHandles.Lookup loaded) {
    try {
      return Objects.requireNonNull(
          MethodHandles.classData(loaded, ConstantDescs.DEFAULT_NAME, Kind.class));
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * {@code results[0][i] = (own[i] op others[first][i] op others[first + 1][i] ...) / divisor} for
   * i from {@code from} to {@code to}, and the same to as many results as there are operands, if
   * the kind says so. A result may be an operand.
   */
  abstract void reduce(
      Object[] results, Object own, Object[] others, int first, int from, int to, int divisor);
}
