package io.collectives.engine.run;

import io.collectives.Repeatability;
import io.collectives.WireType;

/**
 * The settings that all calls of a view of a group share.
 *
 * @param wireType as what float32 elements of a reduction cross the links
 * @param repeatability what all ranks must ask for alike; EXACT is how a program in rank order
 *     takes sums
 * @param finiteCheck whether to tell of numbers that are not finite, if it is a reduction
 * @param frameLength the most bytes of a frame
 * @param slabsInFlight how many slabs may be under way at once, shared with other calls
 * @param timeoutNanos from the start of a call to its deadline
 */
public record CallOptions(
    WireType wireType,
    Repeatability repeatability,
    boolean finiteCheck,
    int frameLength,
    int slabsInFlight,
    long timeoutNanos) {}
