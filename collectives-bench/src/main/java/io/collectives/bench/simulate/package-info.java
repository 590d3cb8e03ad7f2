/**
 * The simulator: moves clocks through a plan on a described network.
 *
 * <p>This package must not know the engine or a transport: it reads plans, as they do.
 */
@NullMarked
package io.collectives.bench.simulate;

import org.jspecify.annotations.NullMarked;
