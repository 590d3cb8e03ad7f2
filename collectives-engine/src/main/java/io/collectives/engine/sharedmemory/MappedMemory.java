package io.collectives.engine.sharedmemory;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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
 * <p><b>Truncation.</b> If somebody shortens the file, what lay beyond its new end faults. The JVM
 * survives that in what it compiles and in most of what it interprets: the access does nothing, a
 * load finds anything, and an {@link InternalError} comes, on JDK 17 at some later moment. It does
 * not survive it in a checksum, nor in an interpreted compare-and-set. So the one is taken of
 * copies only, and the other is done only when the memory was just found to be there. And as
 * nothing that was read can be trusted before it is known that no access has failed, there is a
 * line for each process behind the memory; {@link #isWhole} tells whether that is there, and who
 * has used the memory asks.
 *
 * <p><b>Threads.</b> Whoever closes it makes sure that nobody uses it any more: the memory is gone.
 */
final class MappedMemory implements AutoCloseable {
  private static final Way WAY = Way.best();

  /**
   * The number of words to write in {@link #isWhole}: one for each process, up to this number, so
   * that none takes another's cache line.
   */
  private static final int MARKS = 64;

  private static final int MARK_DISTANCE = 64;
  private static final int PAGE = 4096;
  private static final long FACTOR = 0x9e37_79b9_7f4a_7c15L;
  private static final VarHandle WORD =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle HALF =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  /** Or nothing would have to be made. */
  private static final Object[] MADE = new Object[1];

  /** True if the error of a failed access may come later than the next turn of a loop. */
  static final boolean ERRORS_COME_LATE = Runtime.version().feature() < 19;

  static {
    // Else the JVM would look for the class that is caught while there may be another error.
    awaitError(new InternalError("a rehearsal"));
  }

  private final ByteBuffer all;
  private final ByteBuffer bytes;
  private final Release release;
  private final int mark;
  private long asked;
  private boolean gone;
  private boolean closed;

  private MappedMemory(ByteBuffer all, int length, int process, Release release) {
    this.all = all;
    this.bytes = all.slice(0, length);
    this.release = release;
    mark = marksAt(length) + process % MARKS * MARK_DISTANCE;
  }

  private static int marksAt(int length) {
    return length + PAGE - 1 & -PAGE;
  }

  /** The length of the file of so many bytes of memory. */
  static int fileLength(int length) throws IOException {
    int most = Integer.MAX_VALUE & -MARK_DISTANCE;
    if (length > most - MARKS * MARK_DISTANCE) {
      throw new IOException(
          length
              + " bytes are wanted, at most "
              + (most - MARKS * MARK_DISTANCE)
              + " are possible");
    }
    return marksAt(length) + MARKS * MARK_DISTANCE;
  }

  /**
   * Maps a file of {@link #fileLength} bytes.
   *
   * @param length of the memory
   * @param process which of those that map the file this one is, from 0 on
   */
  static MappedMemory map(FileChannel file, int length, int process) throws IOException {
    return WAY.map(file, length, process);
  }

  /**
   * Returns whether the file has all its bytes: then nothing that this process has read, or
   * written, before has failed. This costs a few nanoseconds.
   *
   * <p>A load of what is gone may find anything, such as what the same load has found before. So
   * two words are written and read back that are new each time, and compared in a way that is wrong
   * if any of the instructions has not been executed.
   *
   * <p>If not, the error that comes of asking, or is still to come, comes here and is caught.
   */
  boolean isWhole() {
    try {
      if (gone) {
        return false;
      }
      long number = ++asked;
      WORD.setOpaque(all, mark, number);
      WORD.setOpaque(all, mark + Long.BYTES, number * FACTOR);
      long first = (long) WORD.getAcquire(all, mark) - number;
      long second = (long) WORD.getAcquire(all, mark + Long.BYTES) - number * FACTOR;
      gone = (first | second) != 0;
    } catch (InternalError e) {
      gone = true;
    }
    return isStillThere();
  }

  /**
   * Returns whether all pages of some bytes are there, for sure, if only this process writes them
   * now; they stay as they are. This costs some nanoseconds for each page.
   *
   * <p>{@link #isWhole} does not find all. The kernel takes one translation after the other and
   * tells the processors to forget them at the end, so for some microseconds this one may reach the
   * line that is asked for when what was read just before is gone. A page that was gone once stays
   * so. Where errors come at once, none of this is needed.
   *
   * <p>A load from a page that is gone is skipped, so its register keeps what it had. With code of
   * C1 that may be the word that was to be stored; it is never its upper half alone.
   *
   * @param from the index of the first byte, a multiple of 8, as is the length
   */
  boolean isWhole(int from, int to) {
    return (!ERRORS_COME_LATE || hasPages(from, to)) && isWhole();
  }

  /** Asks the pages alone. */
  boolean hasPages(int from, int to) {
    try {
      if (gone) {
        return false;
      }
      int wrong = 0;
      for (int at = from; at < to; at = (at & -PAGE) + PAGE) {
        long was = (long) WORD.getAcquire(all, at);
        long other = was ^ ++asked * FACTOR;
        WORD.setOpaque(all, at, other);
        int half = (int) HALF.getAcquire(all, at + Integer.BYTES);
        WORD.setOpaque(all, at, was);
        wrong |= half ^ (int) (other >>> Integer.SIZE);
      }
      gone = wrong != 0;
    } catch (InternalError e) {
      gone = true;
    }
    return isStillThere();
  }

  /**
   * Called whatever was found: the JVM links a call when it is first made, and may throw then. It
   * may also throw where a method begins, so that all of it is within the {@code try}.
   */
  private boolean isStillThere() {
    try {
      if (gone) {
        awaitError();
      }
    } catch (InternalError e) {
      // It came with the call.
    }
    return !gone;
  }

  /**
   * JDK 17 throws the error of compiled code when the thread has called the JVM for something else.
   * That must not be when it unmaps memory, for one: an error in the JDK's own cleaner ends the
   * process. Arrays of arrays are made by the JVM, whatever is compiled.
   */
  static void awaitError() {
    awaitError(null);
  }

  private static void awaitError(@Nullable InternalError rehearsed) {
    try {
      MADE[0] = new byte[16][1];
      if (rehearsed != null) {
        throw rehearsed;
      }
    } catch (InternalError e) {
      // Now there is none any more.
    }
  }

  /**
   * Maps memory that users have views of. Once it is closed a late use of a view is an error, or
   * finds that the memory is still there until the garbage collector has found the last view; but
   * never ends the process.
   */
  static MappedMemory mapForUsers(FileChannel file, int length, int process) throws IOException {
    return (WAY instanceof Arenas ? WAY : new Collected()).map(file, length, process);
  }

  /** Returns whether closing frees the memory at once. */
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
      awaitError();
      try {
        release.run();
      } catch (Throwable e) {
        throw new IllegalStateException("cannot unmap shared memory", e);
      }
    }
  }

  /** The action that ends a mapping. */
  private interface Release {
    void run() throws Throwable;
  }

  /** A way to map a file so that the mapping can be ended. */
  private interface Way {
    MappedMemory map(FileChannel file, int length, int process) throws IOException;

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
    public MappedMemory map(FileChannel file, int length, int process) throws IOException {
      try {
        Object arena = (Object) newArena.invokeExact();
        try {
          Object segment =
              (Object)
                  map.invokeExact(file, MapMode.READ_WRITE, 0L, (long) fileLength(length), arena);
          ByteBuffer bytes = (ByteBuffer) asByteBuffer.invokeExact(segment);
          return new MappedMemory(
              bytes,
              length,
              process,
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
    public MappedMemory map(FileChannel file, int length, int process) throws IOException {
      ByteBuffer bytes = file.map(MapMode.READ_WRITE, 0, fileLength(length));
      return new MappedMemory(
          bytes,
          length,
          process,
          () -> {
            invokeCleaner.invokeExact(bytes);
          });
    }
  }

  /** By the garbage collector. */
  private record Collected() implements Way {
    @Override
    public MappedMemory map(FileChannel file, int length, int process) throws IOException {
      return new MappedMemory(
          file.map(MapMode.READ_WRITE, 0, fileLength(length)), length, process, () -> {});
    }
  }
}
