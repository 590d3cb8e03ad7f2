/**
 * The parts of a training loop that several ranks share: updates of weights of which each rank
 * computes a part ({@link io.collectives.training.ShardedOptimizer}). Layers, evaluation,
 * optimizers and exact sums are in packages of their own, of which this one needs the last two.
 *
 * <p>It stands on communicators, and on files for saved state; it must not know plans' insides,
 * bytes on links, transports or engines.
 */
@NullMarked
package io.collectives.training;

import org.jspecify.annotations.NullMarked;
