package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.internal.MemoryKernels;
import io.collectives.internal.MemoryKernels.Ending;
import io.collectives.internal.MemoryKernels.Kernel;
import io.collectives.internal.MemoryKernels.Kind;
import io.collectives.internal.MemoryKernels.Packing;
import io.collectives.internal.Services;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The {@link MemoryKernels} of this JVM, of which each is used when it has shown that it is fast.
 *
 * <p><b>Trials.</b> Until C2 has compiled it, a loop over vectors is a hundred times slower than
 * one over elements, and allocates every vector. So a kernel is tried on a thread of its own when
 * it is first wanted, and reductions do without until it is faster than they are. Where C2 makes
 * nothing of it, because the processor lacks an instruction, that never happens.
 */
public final class Kernels {
  private static final @Nullable MemoryKernels FOUND =
      Services.of(MemoryKernels.class).findFirst().orElse(null);

  /** The found kernels, if this JVM can run them. */
  private static final @Nullable MemoryKernels ABLE =
      FOUND != null && FOUND.missing() == null ? FOUND : null;

  /** No kernels. */
  static final Kernels NONE = new Kernels(null, null);

  /** The sign of memory that kernels cannot take. */
  private static final Object UNFIT = new Object();

  private static final Function<ByteBuffer, Object> MAKER =
      bytes -> Objects.requireNonNullElse(memory(bytes), UNFIT);

  private static final int OPS = ReduceOp.Standard.values().length;
  private static final int ENDINGS = Ending.values().length;
  private static final int MOST = MemoryKernels.MOST;

  private final @Nullable MemoryKernels source;
  private final @Nullable Trials trials;

  /** By all that makes a {@link Kind}: first type and arrays, then the rest; made when wanted. */
  private final @Nullable Slot<Kernel>[] @Nullable [] slots = rows();

  /** By wire type; made when wanted. */
  private final @Nullable Slot<Packing>[] packings = slots(WireType.values().length);

  /** Room for a kernel, which is empty while that is on trial. */
  static final class Slot<K> {
    volatile @Nullable K kernel;
  }

  /** The trials that tell a fast kernel. */
  interface Trials {
    /** Begins a trial, after which the kernel is in its slot if it is fast. */
    void begin(Kind kind, Kernel kernel, Slot<Kernel> slot);

    /** Begins a trial, after which the loops are in their slot if they are fast. */
    void begin(WireType wire, Packing packing, Slot<Packing> slot);
  }

  private Kernels(@Nullable MemoryKernels source, @Nullable Trials trials) {
    this.source = source;
    this.trials = trials;
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // Arrays of a generic class.
  private static @Nullable Slot<Kernel>[] @Nullable [] rows() {
    return new Slot[ElementType.values().length << 2 * MOST][];
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static <K> @Nullable Slot<K>[] slots(int length) {
    return new Slot[length];
  }

  /** The kernels of this JVM that pass a trial. */
  static Kernels tried(Trials trials) {
    return !areTried() ? NONE : new Kernels(ABLE, trials);
  }

  /** All kernels that this JVM can run, however slow, at once: for tests. */
  static Kernels untried() {
    return new Kernels(ABLE, null);
  }

  /** HotSpot says so if it has nothing but its interpreter, or C1. */
  private static boolean hasC2() {
    String info = System.getProperty("java.vm.info", "");
    return !info.contains("emulated-client") && !info.contains("interpreted");
  }

  /** Returns whether this JVM tries kernels. */
  public static boolean areTried() {
    return ABLE != null && hasC2();
  }

  /** Describes in a few words by what memory outside the heap is reduced in this JVM. */
  public static String describe() {
    if (FOUND == null) {
      return "copies to arrays";
    }
    if (areTried()) {
      return FOUND.toString();
    }
    String missing = FOUND.missing();
    return "copies to arrays, as " + (missing != null ? missing : "the JVM runs without C2");
  }

  /** Returns a buffer in the form in which kernels take it; nothing if they cannot. */
  static @Nullable Object memory(Buffer buffer) {
    return ABLE == null ? null : ABLE.memory(buffer);
  }

  /** Returns a frame in the form in which kernels take it; nothing if they cannot. */
  static @Nullable Object memory(FrameBytes frame) {
    if (ABLE == null) {
      return null;
    }
    Object made = frame.view(MAKER);
    return made == UNFIT ? null : made;
  }

  boolean isEmpty() {
    return source == null;
  }

  /** Returns a kernel; nothing if there is none, or none yet. */
  @Nullable Kernel of(
      ElementType type, ReduceOp.Standard op, int divisor, int size, int results, int arrays) {
    Ending ending = Ending.of(divisor);
    int first = type.ordinal() << 2 * MOST | arrays;
    int second =
        ((op.ordinal() * ENDINGS + ending.ordinal()) * MOST + size - 1) * MOST + results - 1;
    @Nullable Slot<Kernel>[] row = slots[first];
    Slot<Kernel> slot = row == null ? null : row[second];
    if (slot == null) {
      slot = make(first, second, new Kind(type, op, ending, size, results, arrays));
    }
    return slot.kernel;
  }

  private synchronized Slot<Kernel> make(int first, int second, Kind kind) {
    @Nullable Slot<Kernel>[] row = slots[first];
    if (row == null) {
      slots[first] = row = slots(OPS * ENDINGS * MOST * MOST);
    }
    Slot<Kernel> slot = row[second];
    if (slot == null) {
      row[second] = slot = new Slot<>();
      Kernel kernel = Objects.requireNonNull(source).kernel(kind);
      if (kernel != null && trials != null) {
        trials.begin(kind, kernel, slot);
      } else {
        slot.kernel = kernel;
      }
    }
    return slot;
  }

  /** Returns the loops for a wire type; nothing if there are none, or none yet. */
  @Nullable Packing packing(WireType wire) {
    if (source == null) {
      return null;
    }
    Slot<Packing> slot = packings[wire.ordinal()];
    return (slot != null ? slot : make(source, wire)).kernel;
  }

  private synchronized Slot<Packing> make(MemoryKernels from, WireType wire) {
    Slot<Packing> slot = packings[wire.ordinal()];
    if (slot == null) {
      packings[wire.ordinal()] = slot = new Slot<>();
      Packing packing = from.packing(wire);
      if (packing != null && trials != null) {
        trials.begin(wire, packing, slot);
      } else {
        slot.kernel = packing;
      }
    }
    return slot;
  }
}
