/**
 * Measures collectives: what one rank does for one case, ranks that wait for cases, and where the
 * host has put the cores.
 *
 * <p>This package must not know the command line, nor how figures are printed.
 */
@NullMarked
package io.collectives.bench.perf;

import org.jspecify.annotations.NullMarked;
