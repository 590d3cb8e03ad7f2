package io.collectives.engine.memory;

import io.collectives.ElementType;

/** The {@link Elements} of each type: the one place that knows all of them. */
final class ElementTypes {
  private ElementTypes() {}

  static Elements of(ElementType type) {
    return switch (type) {
      case FLOAT32 -> Float32Elements.INSTANCE;
      case FLOAT64 -> Float64Elements.INSTANCE;
      case INT32 -> Int32Elements.INSTANCE;
      case INT64 -> Int64Elements.INSTANCE;
      case BFLOAT16 -> Elements16.BFLOAT16;
      case FLOAT16 -> Elements16.FLOAT16;
      case INT8 -> Elements8.INT8;
      case UINT8 -> Elements8.UINT8;
    };
  }
}
