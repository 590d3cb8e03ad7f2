package io.collectives.vector;

import io.collectives.internal.MemoryKernels.Kernel;
import io.collectives.internal.MemoryKernels.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.constant.ConstantDescs;
import java.lang.invoke.MethodHandles;
import java.util.Objects;

/**
 * Loads the class of a kernel once for each kind, as a hidden class, for which the kind is a
 * constant: the compiler leaves out what the constant rules out. The loops of the engine do the
 * same.
 */
final class Templates {
  private Templates() {}

  static Kernel kernel(Class<? extends Kernel> template, Kind kind) {
    String file = template.getSimpleName() + ".class";
    try (InputStream code = template.getResourceAsStream(file)) {
      byte[] bytes = Objects.requireNonNull(code, file).readAllBytes();
      return (Kernel)
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

  /** The kind of a class that was loaded by {@link #kernel}. */
  static Kind kind(MethodHandles.Lookup loaded) {
    try {
      return Objects.requireNonNull(
          MethodHandles.classData(loaded, ConstantDescs.DEFAULT_NAME, Kind.class));
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
  }
}
