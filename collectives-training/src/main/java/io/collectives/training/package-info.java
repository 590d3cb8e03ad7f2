/**
 * The parts of a training loop that several ranks share: updates of weights of which each rank does
 * a part ({@link io.collectives.training.ShardedOptimizer}). Layers, evaluation, optimizers and
 * exact sums are in packages of their own, which this one does not need but for the last two.
 *
 * <p>It stands on communicators, and on files for what is saved; it must not know plans' insides,
 * bytes on links, transports or engines.
 */
@NullMarked
package io.collectives.training;

import org.jspecify.annotations.NullMarked;
