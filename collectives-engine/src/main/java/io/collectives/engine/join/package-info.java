/**
 * The ways in which a process finds its job: the variables of launchers in the environment, and a
 * directory or an exchange of texts as the rendezvous.
 *
 * <p>This package must not know what ranks do once they have met: it names no plan, no frame and no
 * socket.
 */
@NullMarked
package io.collectives.engine.join;

import org.jspecify.annotations.NullMarked;
