/**
 * How a process finds its job: what launchers say in the environment, and a directory as the place
 * where ranks meet.
 *
 * <p>This package must not know what ranks do once they have met: it names no plan, no frame and no
 * socket.
 */
@NullMarked
package io.collectives.engine.join;

import org.jspecify.annotations.NullMarked;
