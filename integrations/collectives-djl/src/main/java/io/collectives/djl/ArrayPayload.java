package io.collectives.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.collectives.ElementType;
import io.collectives.Payload;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Payloads that are the memory of DJL's arrays. */
public final class ArrayPayload {
  /** The engine whose buffers are known to be the memory of arrays; others give copies. */
  private static final String ENGINE = "PyTorch";

  private ArrayPayload() {}

  /**
   * Describes the elements of an array. Nothing is copied: a call that writes the payload writes
   * the array.
   *
   * <p>The payload does not keep the array's memory: keep the array open as long as the payload is
   * in use. The array that {@link NDArray#getGradient()} makes is another one of the same memory;
   * the memory of a gradient is that of the parameter.
   *
   * @param array a contiguous array of the PyTorch engine in the host's memory, of float32,
   *     float64, float16, int32, int64, int8, uint8, or boolean (as uint8)
   * @throws IllegalArgumentException if it is none of these
   */
  public static Payload of(NDArray array) {
    String engine = array.getManager().getEngine().getEngineName();
    if (!engine.equals(ENGINE) || array.getDevice().isGpu() || array.isSparse()) {
      throw new IllegalArgumentException(
          "an array of the engine "
              + engine
              + " on "
              + array.getDevice()
              + (array.isSparse() ? ", sparse" : "")
              + ": ranks reduce dense arrays of the engine "
              + ENGINE
              + " on the CPU, whose memory they can write");
    }
    Payload payload = view(array);
    if (array.size() > 0 && !isShared(array)) {
      throw new IllegalArgumentException(
          "an array of shape "
              + array.getShape()
              + " that is not contiguous, which the engine shows as a copy: pass"
              + " array.duplicate()");
    }
    return payload;
  }

  /** Describes an array as {@link #of} does, without a check. */
  static Payload view(NDArray array) {
    ElementType type = type(array.getDataType());
    return Payload.of(memory(array), type);
  }

  private static ByteBuffer memory(NDArray array) {
    ByteBuffer memory = array.size() == 0 ? ByteBuffer.allocateDirect(0) : array.toByteBuffer(true);
    return memory.order(ByteOrder.nativeOrder());
  }

  /** Returns whether what is written to a buffer of the array is seen in another one. */
  private static boolean isShared(NDArray array) {
    ByteBuffer memory = memory(array);
    byte before = memory.get(0);
    byte other = (byte) ~before;
    memory.put(0, other);
    boolean isSeen = memory(array).get(0) == other;
    memory.put(0, before);
    return isSeen;
  }

  private static ElementType type(DataType type) {
    return switch (type) {
      case FLOAT32 -> ElementType.FLOAT32;
      case FLOAT64 -> ElementType.FLOAT64;
      case FLOAT16 -> ElementType.FLOAT16;
      case INT32 -> ElementType.INT32;
      case INT64 -> ElementType.INT64;
      case INT8 -> ElementType.INT8;
      case UINT8, BOOLEAN -> ElementType.UINT8;
      default ->
          throw new IllegalArgumentException(
              "an array of "
                  + type
                  + ": ranks reduce float32, float64, float16, int32, int64, int8, uint8"
                  + " and boolean");
    };
  }
}
