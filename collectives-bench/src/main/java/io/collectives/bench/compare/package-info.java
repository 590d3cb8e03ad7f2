/**
 * Other libraries, which the same sums are measured with: how each is had, built and started.
 *
 * <p>This package must not know how figures are printed.
 */
@NullMarked
package io.collectives.bench.compare;

import org.jspecify.annotations.NullMarked;
