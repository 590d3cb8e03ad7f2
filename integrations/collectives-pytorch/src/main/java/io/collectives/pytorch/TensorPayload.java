package io.collectives.pytorch;

import io.collectives.ElementType;
import io.collectives.Payload;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Payloads that are the memory of PyTorch's tensors. */
public final class TensorPayload {
  /** The most bytes of a part: a ByteBuffer holds less than 2 GiB. */
  private static final long PART = 1 << 30;

  private TensorPayload() {}

  /**
   * Describes the elements of a tensor in the order in which they lie in memory. Nothing is copied:
   * a call that writes the payload writes the tensor, and autograd does not notice.
   *
   * <p>The payload does not keep the tensor's memory: keep the tensor as long as the payload is in
   * use. A tensor of a shape without elements has a payload of none.
   *
   * @param tensor a dense tensor in the host's memory without gaps, of float32, float64, bfloat16,
   *     float16, int32, int64, int8, uint8, or bool (as uint8)
   * @throws IllegalArgumentException if it is none of these
   */
  public static Payload of(TensorBase tensor) {
    ElementType type = type(tensor);
    if (!tensor.is_cpu() || tensor.is_sparse()) {
      throw new IllegalArgumentException(
          "a tensor that is sparse or not in the host's memory: ranks reduce dense tensors on the"
              + " CPU; convert it by to_dense() or cpu()");
    }
    if (!tensor.is_non_overlapping_and_dense()) {
      throw new IllegalArgumentException(
          "a tensor whose elements overlap or have gaps between them: ranks reduce whole memory;"
              + " pass tensor.contiguous()");
    }
    long length = tensor.nbytes();
    if (length == 0) {
      return Payload.of(ByteBuffer.allocateDirect(0).order(java.nio.ByteOrder.nativeOrder()), type);
    }
    Pointer memory = tensor.data_ptr();
    List<Payload> parts = new ArrayList<>();
    for (long start = 0; start < length; start += PART) {
      BytePointer part = new BytePointer(memory).position(start);
      part.limit(Math.min(length, start + PART));
      parts.add(Payload.of(part.asByteBuffer(), type));
    }
    return parts.size() == 1 ? parts.get(0) : Payload.of(parts);
  }

  /** Describes the elements of several tensors, one after the other, as {@link #of} does each. */
  public static Payload of(List<Tensor> tensors) {
    return Payload.of(tensors.stream().<Payload>map(TensorPayload::of).toList());
  }

  private static ElementType type(TensorBase tensor) {
    ScalarType type = tensor.scalar_type().intern();
    return switch (type) {
      case Float -> ElementType.FLOAT32;
      case Double -> ElementType.FLOAT64;
      case BFloat16 -> ElementType.BFLOAT16;
      case Half -> ElementType.FLOAT16;
      case Int -> ElementType.INT32;
      case Long -> ElementType.INT64;
      case Char -> ElementType.INT8;
      case Byte, Bool -> ElementType.UINT8;
      default ->
          throw new IllegalArgumentException(
              "a tensor of "
                  + type
                  + ": ranks reduce Float, Double, BFloat16, Half, Int, Long, Char, Byte and Bool");
    };
  }
}
