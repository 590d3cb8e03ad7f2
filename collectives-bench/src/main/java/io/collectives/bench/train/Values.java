package io.collectives.bench.train;

import io.collectives.Bfloat16;
import io.collectives.ElementType;
import io.collectives.Float16;
import io.collectives.Payload;
import io.collectives.bench.model.BitHash;

/** The gradients of a tensor in an array of their type. */
abstract class Values {
  private final int count;

  private Values(int count) {
    this.count = count;
  }

  /** Zeros of a type of floating-point numbers. */
  static Values of(ElementType type, int count) {
    return switch (type) {
      case FLOAT32 -> ofFloats(new float[count]);
      case FLOAT64 -> ofDoubles(new double[count]);
      case BFLOAT16, FLOAT16 -> ofShorts(new short[count], type);
      case INT32, INT64, INT8, UINT8 ->
          throw new IllegalArgumentException("gradients of " + type + ": must be fractions");
    };
  }

  final int count() {
    return count;
  }

  abstract Payload payload();

  /** Writes elements, rounded to the type. */
  abstract void put(int at, float[] values, int length);

  abstract double get(int index);

  abstract void addTo(BitHash hash);

  private static Values ofFloats(float[] array) {
    return new Values(array.length) {
      @Override
      Payload payload() {
        return Payload.of(array);
      }

      @Override
      void put(int at, float[] values, int length) {
        System.arraycopy(values, 0, array, at, length);
      }

      @Override
      double get(int index) {
        return array[index];
      }

      @Override
      void addTo(BitHash hash) {
        hash.add(array);
      }
    };
  }

  private static Values ofDoubles(double[] array) {
    return new Values(array.length) {
      @Override
      Payload payload() {
        return Payload.of(array);
      }

      @Override
      void put(int at, float[] values, int length) {
        for (int i = 0; i < length; i++) {
          array[at + i] = values[i];
        }
      }

      @Override
      double get(int index) {
        return array[index];
      }

      @Override
      void addTo(BitHash hash) {
        hash.add(array);
      }
    };
  }

  private static Values ofShorts(short[] array, ElementType type) {
    boolean isBfloat16 = type == ElementType.BFLOAT16;
    return new Values(array.length) {
      @Override
      Payload payload() {
        return Payload.of(array, type);
      }

      @Override
      void put(int at, float[] values, int length) {
        for (int i = 0; i < length; i++) {
          array[at + i] = isBfloat16 ? Bfloat16.of(values[i]) : Float16.of(values[i]);
        }
      }

      @Override
      double get(int index) {
        return isBfloat16 ? Bfloat16.toFloat(array[index]) : Float16.toFloat(array[index]);
      }

      @Override
      void addTo(BitHash hash) {
        hash.add(array);
      }
    };
  }
}
