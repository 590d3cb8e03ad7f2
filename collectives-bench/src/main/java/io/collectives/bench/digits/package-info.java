/**
 * A small network that learns to read real handwritten digits, with the parts of
 * collectives-training: what {@code collectives train} runs.
 *
 * <p>This package must not know where its ranks run, nor how its figures are printed.
 */
@NullMarked
package io.collectives.bench.digits;

import org.jspecify.annotations.NullMarked;
