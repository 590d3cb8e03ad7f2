/**
 * Optimizers, which are arithmetic on arrays: the rules by which gradients change weights.
 * Parameter servers and sharded updates use the same ones.
 *
 * <p>It stands on exact sums; it must not know of ranks, groups and messages.
 */
@NullMarked
package io.collectives.training.optimizer;

import org.jspecify.annotations.NullMarked;
