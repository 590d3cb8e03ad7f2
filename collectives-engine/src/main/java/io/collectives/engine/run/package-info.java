/**
 * The engine of one rank: a state machine that runs plans on payloads over a transport.
 *
 * <p>It must not know which transport or algorithm it runs, own a thread, or wait: whoever drives
 * it decides that.
 */
@NullMarked
package io.collectives.engine.run;

import org.jspecify.annotations.NullMarked;
