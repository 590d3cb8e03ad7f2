package io.collectives.training;

import org.jspecify.annotations.Nullable;

/**
 * The result of a step, the same on all ranks.
 *
 * @param applied whether weights were updated; they were not if a gradient, or a weight, was not
 *     finite
 * @param gradientNorm the Euclidean norm of all reduced gradients together, divided by the scale of
 *     the loss, before clipping; NaN if the step was not applied
 * @param nonFinite the first tensor, in the order of registration, in which a reduced gradient or a
 *     weight was infinite or not a number; null if the step was applied
 */
public record ShardedStep(boolean applied, double gradientNorm, @Nullable String nonFinite) {}
