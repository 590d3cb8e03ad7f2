package io.collectives.training;

import io.collectives.FusionSettings;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import java.util.Objects;

/**
 * The settings of a {@link ShardedOptimizer}: how it reduces gradients and gathers weights. All
 * ranks must use the same settings; a difference is found at the first step.
 *
 * @param op {@link ReduceOp#AVERAGE} or {@link ReduceOp#SUM}, the operation for the gradients of
 *     all ranks, and of accumulated micro-batches
 * @param bucketLength the number of bytes of gradients that are reduced together, at least 1,
 *     rounded up to 256 for each rank. Short buckets can be reduced while the backward pass still
 *     runs, long ones cost fewer calls
 * @param clipNorm the greatest Euclidean norm of all gradients together, after reduction; gradients
 *     with a larger norm are scaled down to it. It is more than 0; infinity is no limit
 * @param weightType {@link WireType#AS_IN_MEMORY}, or {@link WireType#BFLOAT16}, with which weights
 *     are sent in half the bytes, and every rank computes with the rounded ones, while the weights
 *     that are updated stay float32
 */
public record ShardSettings(ReduceOp op, int bucketLength, double clipNorm, WireType weightType) {
  private static final ShardSettings DEFAULTS =
      new ShardSettings(
          ReduceOp.AVERAGE,
          FusionSettings.defaults().bufferLength(),
          Double.POSITIVE_INFINITY,
          WireType.AS_IN_MEMORY);

  /** Checks the values. */
  public ShardSettings {
    Objects.requireNonNull(op, "op");
    if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
      throw new IllegalArgumentException(
          "reduction of gradients by " + op + ": must be sum or average");
    }
    if (bucketLength < 1) {
      throw new IllegalArgumentException(
          "buckets of " + bucketLength + " bytes: must be at least 1");
    }
    if (!(clipNorm > 0)) {
      throw new IllegalArgumentException(
          "gradients clipped to a norm of "
              + clipNorm
              + ": must be more than 0, or infinite for no limit");
    }
    if (weightType != WireType.AS_IN_MEMORY && weightType != WireType.BFLOAT16) {
      throw new IllegalArgumentException(
          "weights that travel as " + weightType + ": must be as-in-memory or bfloat16");
    }
  }

  /**
   * Returns settings for averages in buckets of 8 MiB, without clipping, and with weights that are
   * sent as they are in memory.
   */
  public static ShardSettings defaults() {
    return DEFAULTS;
  }

  /** Returns these settings with another operation. */
  public ShardSettings withOp(ReduceOp other) {
    return new ShardSettings(other, bucketLength, clipNorm, weightType);
  }

  /** Returns these settings with another length of buckets, in bytes. */
  public ShardSettings withBucketLength(int other) {
    return new ShardSettings(op, other, clipNorm, weightType);
  }

  /** Returns these settings with another limit of the norm of the gradients. */
  public ShardSettings withClipNorm(double other) {
    return new ShardSettings(op, bucketLength, other, weightType);
  }

  /** Returns these settings with weights that are sent as another type. */
  public ShardSettings withWeightType(WireType other) {
    return new ShardSettings(op, bucketLength, clipNorm, other);
  }
}
