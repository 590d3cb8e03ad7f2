/**
 * The gradient part of a data-parallel training loop, with made-up gradients: it makes them,
 * averages them over the ranks, and checks the result.
 *
 * <p>This package must not know where its ranks run, nor how its figures are printed.
 */
@NullMarked
package io.collectives.bench.train;

import org.jspecify.annotations.NullMarked;
