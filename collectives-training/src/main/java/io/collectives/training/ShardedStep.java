package io.collectives.training;

import org.jspecify.annotations.Nullable;

/**
 * What became of a step; the same on all ranks.
 *
 * @param applied whether weights were updated; not if a gradient, or a weight, was not finite
 * @param gradientNorm the Euclidean norm of all reduced gradients together, divided by the scale of
 *     the loss, before clipping; NaN if the step was not applied
 * @param nonFinite the first tensor, in the order of registration, in which a reduced gradient or a
 *     weight was infinite or not a number; nothing if the step was applied
 */
public record ShardedStep(boolean applied, double gradientNorm, @Nullable String nonFinite) {}
