/**
 * Asks the ranks of running jobs what they do, and finds out who keeps the others waiting.
 *
 * <p>It knows the text of the answers that {@code io.collectives.engine.status} describes, takes
 * nothing in it for granted, and must not know how anything is printed.
 */
@NullMarked
package io.collectives.bench.status;

import org.jspecify.annotations.NullMarked;
