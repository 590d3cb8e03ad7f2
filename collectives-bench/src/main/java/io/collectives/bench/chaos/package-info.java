/**
 * Real processes that are killed, stopped and disconnected while they sum, and what their survivors
 * say of it.
 *
 * <p>This package must not know how the engine finds out: it names signals and connections of the
 * system on one side, and the public interface on the other.
 */
@NullMarked
package io.collectives.bench.chaos;

import org.jspecify.annotations.NullMarked;
