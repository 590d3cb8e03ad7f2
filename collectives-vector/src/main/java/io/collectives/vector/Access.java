package io.collectives.vector;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorSpecies;
import org.jspecify.annotations.Nullable;

/**
 * The way of vectors from memory and back. JDK 17 and 18 have methods that take a {@link
 * ByteBuffer}, JDK 22 and newer ones that take a {@code MemorySegment}, and no JDK has both. So
 * they are found by name, once, and called by constant method handles, through which C2 sees: the
 * same byte code runs on both, and whatever JDK compiles it.
 *
 * <p><b>Segments</b> are made of views of a buffer that are not of bytes: these are of one class,
 * whether or not the memory is that of a file. If kernels met a second class, C2 would throw away
 * their code.
 */
final class Access {
  /** The methods of this JDK; nothing if it has none. */
  private static final @Nullable Way WAY = Way.find();

  private static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class);
  private static final int[] ZERO = {0};

  private Access() {}

  /**
   * The methods of a JDK.
   *
   * @param memory the class that stands for memory
   * @param index the class of an index in it
   */
  private record Way(
      Class<?> memory, Class<?> index, String load, String store, @Nullable MethodHandle segment) {

    static @Nullable Way find() {
      int feature = Runtime.version().feature();
      if (feature < 19) {
        return new Way(ByteBuffer.class, int.class, "fromByteBuffer", "intoByteBuffer", null);
      }
      if (feature < 22) {
        return null; // Segments are a preview there, with which class files must be marked.
      }
      try {
        Class<?> segment = Class.forName("java.lang.foreign.MemorySegment");
        MethodHandle maker =
            MethodHandles.publicLookup()
                .findStatic(segment, "ofBuffer", MethodType.methodType(segment, Buffer.class))
                .asType(MethodType.methodType(Object.class, Buffer.class));
        return new Way(segment, long.class, "fromMemorySegment", "intoMemorySegment", maker);
      } catch (ReflectiveOperationException e) {
        return null;
      }
    }

    MethodHandle load(Class<?> vector, VectorSpecies<?> species)
        throws ReflectiveOperationException {
      MethodHandle found =
          MethodHandles.publicLookup()
              .findStatic(
                  vector,
                  load,
                  MethodType.methodType(
                      vector, VectorSpecies.class, memory, index, ByteOrder.class));
      return MethodHandles.explicitCastArguments(
          MethodHandles.insertArguments(
              MethodHandles.insertArguments(found, 3, ByteOrder.LITTLE_ENDIAN), 0, species),
          MethodType.methodType(vector, Object.class, long.class));
    }

    MethodHandle store(Class<?> vector) throws ReflectiveOperationException {
      MethodHandle found =
          MethodHandles.publicLookup()
              .findVirtual(
                  vector, store, MethodType.methodType(void.class, memory, index, ByteOrder.class));
      return MethodHandles.explicitCastArguments(
          MethodHandles.insertArguments(found, 3, ByteOrder.LITTLE_ENDIAN),
          MethodType.methodType(void.class, vector, Object.class, long.class));
    }
  }

  /** Says what this JDK lacks; nothing if it has all. */
  static @Nullable String missing() {
    String jdk = "JDK " + Runtime.version().feature();
    if (WAY == null) {
      return jdk + " has no vectors of memory outside the heap";
    }
    try {
      WAY.load(FloatVector.class, FloatVector.SPECIES_PREFERRED);
      WAY.store(FloatVector.class);
      return null;
    } catch (ReflectiveOperationException e) {
      return jdk + " has another Vector API: " + e;
    }
  }

  static String describe() {
    return "Vector API, " + FloatVector.SPECIES_PREFERRED.vectorBitSize() + " bits";
  }

  /** A {@code (Object memory, long byte)} to a vector. */
  static MethodHandle load(Class<? extends Vector<?>> vector, VectorSpecies<?> species) {
    try {
      return way().load(vector, species);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("cannot load a vector", e);
    }
  }

  /** A {@code (vector, Object memory, long byte)} to nothing. */
  static MethodHandle store(Class<? extends Vector<?>> vector) {
    try {
      return way().store(vector);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("cannot store a vector", e);
    }
  }

  private static Way way() {
    if (WAY == null) {
      throw new IllegalStateException(missing());
    }
    return WAY;
  }

  static @Nullable Object memory(Buffer buffer) {
    if (!buffer.isDirect()) {
      return null;
    }
    MethodHandle segment = way().segment();
    if (segment == null) {
      // A read-only buffer would be a second class, and a view of elements has no bytes.
      return buffer instanceof ByteBuffer bytes && !bytes.isReadOnly()
          ? bytes.duplicate().clear().order(ByteOrder.LITTLE_ENDIAN)
          : null;
    }
    Buffer view =
        buffer instanceof ByteBuffer bytes
            ? bytes.duplicate().clear().order(ByteOrder.LITTLE_ENDIAN).asShortBuffer()
            : buffer.duplicate().clear();
    try {
      return (Object) segment.invokeExact(view);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /**
   * Returns 0, and makes the JVM survive a fault in the loop before: to be called after it, so that
   * it is a part of all code that has the loop. If a file is truncated whose memory is read, the
   * JVM throws an {@link InternalError} where C2 saw an unsafe access, and else it dies. C2 of
   * newer JDKs takes no vector for one, but it does so take this, which it always compiles as it
   * is.
   */
  static int expectFaults() {
    return (int) INTS.getOpaque(ZERO, 0);
  }
}
