/**
 * Processes that are started, talked to and ended together.
 *
 * <p>This package must not know what the processes compute: it names no communicator and no
 * payload.
 */
@NullMarked
package io.collectives.bench.process;

import org.jspecify.annotations.NullMarked;
