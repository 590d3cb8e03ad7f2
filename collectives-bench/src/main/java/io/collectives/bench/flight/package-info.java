/**
 * Flight records of the ranks of a job, read from files and lined up.
 *
 * <p>This package must not know how the engine keeps them: it knows the text that {@code
 * Communicator.flightRecord()} describes, and takes nothing in it for granted.
 */
@NullMarked
package io.collectives.bench.flight;

import org.jspecify.annotations.NullMarked;
