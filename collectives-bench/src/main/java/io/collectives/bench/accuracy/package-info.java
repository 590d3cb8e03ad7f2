/**
 * How far sums are from the exact ones: taken by the engine, or by moving the numbers through a
 * plan.
 *
 * <p>This package must not know the command line, nor how long anything takes.
 */
@NullMarked
package io.collectives.bench.accuracy;

import org.jspecify.annotations.NullMarked;
