/**
 * Evaluation by all ranks: each evaluates its share of the examples, and all get the metrics of all
 * of them, whose bits do not depend on the number of ranks ({@link
 * io.collectives.training.evaluation.Evaluation}).
 *
 * <p>It stands on communicators and exact sums; it must not know networks, optimizers, plans'
 * insides, transports or engines.
 */
@NullMarked
package io.collectives.training.evaluation;

import org.jspecify.annotations.NullMarked;
