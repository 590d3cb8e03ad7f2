package io.collectives.engine.sharedmemory;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import org.jspecify.annotations.Nullable;

/**
 * A mapped file that is unmapped when it is closed, not when the garbage collector comes by: the
 * memory of a deleted file is free only when nobody maps it.
 *
 * <p>From JDK 22 on the mapping belongs to a shared arena, which is closed. The releases before
 * have no public call for it; there it is {@code invokeCleaner} of the module {@code
 * jdk.unsupported}, which needs no flag. Both are reached by reflection, as this code is compiled
 * for JDK 17. If neither is there, the memory is free after the next garbage collection.
 *
 * <p><b>Threads.</b> Whoever closes it makes sure that nobody uses it any more: the memory is gone.
 */
final class MappedMemory implements AutoCloseable {
  private static final Way WAY = Way.best();

  private final ByteBuffer bytes;
  private final Release release;
  private boolean closed;

  private MappedMemory(ByteBuffer bytes, Release release) {
    this.bytes = bytes;
    this.release = release;
  }

  /** Maps the first bytes of a file, which must have them. */
  static MappedMemory map(FileChannel file, int length) throws IOException {
    return WAY.map(file, length);
  }

  /**
   * The same, of memory that users have views of. Once it is closed a late use of one is an error,
   * or finds that the memory is still there until the garbage collector has found the last view;
   * but never ends the process.
   */
  static MappedMemory mapForUsers(FileChannel file, int length) throws IOException {
    return (WAY instanceof Arenas ? WAY : new Collected()).map(file, length);
  }

  /** Whether closing frees the memory at once. */
  static boolean isDeterministic() {
    return !(WAY instanceof Collected);
  }

  ByteBuffer bytes() {
    return bytes;
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      try {
        release.run();
      } catch (Throwable e) {
        throw new IllegalStateException("cannot unmap shared memory", e);
      }
    }
  }

  /** How a mapping ends. */
  private interface Release {
    void run() throws Throwable;
  }

  /** How a file is mapped so that the mapping can be ended. */
  private interface Way {
    MappedMemory map(FileChannel file, int length) throws IOException;

    static Way best() {
      Way way = Runtime.version().feature() >= 22 ? Arenas.find() : Cleaners.find();
      return way == null ? new Collected() : way;
    }
  }

  /** JDK 22 and newer. */
  private record Arenas(
      MethodHandle newArena, MethodHandle map, MethodHandle asByteBuffer, MethodHandle close)
      implements Way {

    static @Nullable Way find() {
      try {
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        Class<?> arena = Class.forName("java.lang.foreign.Arena");
        Class<?> segment = Class.forName("java.lang.foreign.MemorySegment");
        return new Arenas(
            lookup
                .findStatic(arena, "ofShared", MethodType.methodType(arena))
                .asType(MethodType.methodType(Object.class)),
            lookup
                .findVirtual(
                    FileChannel.class,
                    "map",
                    MethodType.methodType(segment, MapMode.class, long.class, long.class, arena))
                .asType(
                    MethodType.methodType(
                        Object.class,
                        FileChannel.class,
                        MapMode.class,
                        long.class,
                        long.class,
                        Object.class)),
            lookup
                .findVirtual(segment, "asByteBuffer", MethodType.methodType(ByteBuffer.class))
                .asType(MethodType.methodType(ByteBuffer.class, Object.class)),
            lookup
                .findVirtual(arena, "close", MethodType.methodType(void.class))
                .asType(MethodType.methodType(void.class, Object.class)));
      } catch (ReflectiveOperationException e) {
        return null;
      }
    }

    @Override
    public MappedMemory map(FileChannel file, int length) throws IOException {
      try {
        Object arena = (Object) newArena.invokeExact();
        try {
          Object segment =
              (Object) map.invokeExact(file, MapMode.READ_WRITE, 0L, (long) length, arena);
          ByteBuffer bytes = (ByteBuffer) asByteBuffer.invokeExact(segment);
          return new MappedMemory(
              bytes,
              () -> {
                close.invokeExact(arena);
              });
        } catch (Throwable e) {
          close.invokeExact(arena);
          throw e;
        }
      } catch (IOException | RuntimeException | Error e) {
        throw e;
      } catch (Throwable e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** Up to JDK 21. */
  private record Cleaners(MethodHandle invokeCleaner) implements Way {

    static @Nullable Way find() {
      try {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field instance = unsafe.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        return new Cleaners(
            MethodHandles.lookup()
                .findVirtual(
                    unsafe, "invokeCleaner", MethodType.methodType(void.class, ByteBuffer.class))
                .bindTo(instance.get(null)));
      } catch (ReflectiveOperationException | RuntimeException e) {
        return null;
      }
    }

    @Override
    public MappedMemory map(FileChannel file, int length) throws IOException {
      ByteBuffer bytes = file.map(MapMode.READ_WRITE, 0, length);
      return new MappedMemory(
          bytes,
          () -> {
            invokeCleaner.invokeExact(bytes);
          });
    }
  }

  /** By the garbage collector. */
  private record Collected() implements Way {
    @Override
    public MappedMemory map(FileChannel file, int length) throws IOException {
      return new MappedMemory(file.map(MapMode.READ_WRITE, 0, length), () -> {});
    }
  }
}
