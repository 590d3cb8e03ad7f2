package io.collectives.bench.accuracy;

import io.collectives.Bfloat16;
import io.collectives.ElementType;
import io.collectives.Float16;
import io.collectives.Payload;

/** Floating-point numbers of some type, as a call takes them. */
abstract class Values {
  final int count;
  final Payload payload;

  private Values(int count, Payload payload) {
    this.count = count;
    this.payload = payload;
  }

  /**
   * So many zeros.
   *
   * @throws IllegalArgumentException if the type is one of integers
   */
  static Values of(ElementType type, int count) {
    return switch (type) {
      case FLOAT32 -> of(new float[count]);
      case FLOAT64 -> of(new double[count]);
      case BFLOAT16, FLOAT16 -> of(new short[count], type);
      case INT32, INT64, INT8, UINT8 ->
          throw new IllegalArgumentException(type + ": sums of integers are exact");
    };
  }

  /** An element becomes the nearest number of the type. */
  abstract void set(int index, double value);

  abstract double get(int index);

  private static Values of(float[] array) {
    return new Values(array.length, Payload.of(array)) {
      @Override
      void set(int index, double value) {
        array[index] = (float) value;
      }

      @Override
      double get(int index) {
        return array[index];
      }
    };
  }

  private static Values of(double[] array) {
    return new Values(array.length, Payload.of(array)) {
      @Override
      void set(int index, double value) {
        array[index] = value;
      }

      @Override
      double get(int index) {
        return array[index];
      }
    };
  }

  private static Values of(short[] array, ElementType type) {
    boolean upperHalf = type == ElementType.BFLOAT16;
    return new Values(array.length, Payload.of(array, type)) {
      @Override
      void set(int index, double value) {
        array[index] = upperHalf ? Bfloat16.of((float) value) : Float16.of((float) value);
      }

      @Override
      double get(int index) {
        return upperHalf ? Bfloat16.toFloat(array[index]) : Float16.toFloat(array[index]);
      }
    };
  }
}
