/**
 * The deviation of sums from the exact ones, which the engine takes, or which come from moving the
 * numbers through a plan.
 *
 * <p>This package must not know the command line, nor how long anything takes.
 */
@NullMarked
package io.collectives.bench.accuracy;

import org.jspecify.annotations.NullMarked;
