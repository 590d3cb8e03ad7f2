/**
 * What training code imports: communicators, what they move ({@link io.collectives.Payload}), how
 * they combine it ({@link io.collectives.ReduceOp}), by which route ({@link
 * io.collectives.Algorithm}), and what can go wrong.
 *
 * <p>This package must not know how bytes travel: it names no socket, no thread and no frame.
 */
@NullMarked
package io.collectives;

import org.jspecify.annotations.NullMarked;
