package io.collectives.vector;

import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.internal.MemoryKernels;
import java.nio.Buffer;
import java.nio.ByteOrder;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The kernels, if this JVM has the Vector API and the means to reach memory with it. */
public final class VectorKernels implements MemoryKernels {
  private static final String MODULE = "jdk.incubator.vector";

  /** The ops for which each class of kernels has a case. */
  private static final Set<ReduceOp> OPS =
      Set.of(ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT);

  private final @Nullable String missing;

  /** The kernels of this JVM. */
  public VectorKernels() {
    missing = lookFor();
  }

  /** No class that knows the Vector API may be touched where it is not there. */
  private static @Nullable String lookFor() {
    if (ModuleLayer.boot().findModule(MODULE).isEmpty()) {
      return "the JVM was started without --add-modules " + MODULE;
    }
    if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
      return "the processor is big-endian";
    }
    try {
      return Access.missing();
    } catch (LinkageError e) {
      return "JDK " + Runtime.version().feature() + " has another Vector API: " + e;
    }
  }

  @Override
  public @Nullable String missing() {
    return missing;
  }

  @Override
  public String toString() {
    return missing == null ? Access.describe() : "none, as " + missing;
  }

  @Override
  public @Nullable Object memory(Buffer buffer) {
    return missing == null ? Access.memory(buffer) : null;
  }

  @Override
  public @Nullable Kernel kernel(Kind kind) {
    boolean divides = kind.ending() == Ending.DIVISION;
    if (missing != null
        || !OPS.contains(kind.op())
        || kind.size() > MOST
        || kind.results() > MOST) {
      return null;
    }
    // Processors have no vector instruction that divides integers.
    return switch (kind.type()) {
      case FLOAT32 -> Templates.kernel(Float32Kernel.class, kind);
      case FLOAT64 -> Templates.kernel(Float64Kernel.class, kind);
      case INT32 -> divides ? null : Templates.kernel(Int32Kernel.class, kind);
      case INT64 -> divides ? null : Templates.kernel(Int64Kernel.class, kind);
      default -> null;
    };
  }

  @Override
  public @Nullable Packing packing(WireType wire) {
    if (missing != null) {
      return null;
    }
    return switch (wire) {
      case BFLOAT16 -> new Bfloat16Packing();
      case INT8 -> new Int8Packing();
      case FLOAT16, AS_IN_MEMORY -> null;
    };
  }
}
