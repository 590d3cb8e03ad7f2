/**
 * Lets another process ask a rank what it does: a socket of its user's, and the answer.
 *
 * <p>It must not know calls, plans or transports: it gets the lines about them from whoever drives
 * the engine, and adds what is known of the process. What the answers of all ranks mean together is
 * for whoever asks.
 */
@NullMarked
package io.collectives.engine.status;

import org.jspecify.annotations.NullMarked;
