/**
 * The types that training code imports: communicators, the memory that they move ({@link
 * io.collectives.Payload}), the operations that combine it ({@link io.collectives.ReduceOp}), the
 * algorithms ({@link io.collectives.Algorithm}), and the exceptions.
 *
 * <p>This package must not know how bytes travel: it names no socket, no thread and no frame.
 */
@NullMarked
package io.collectives;

import org.jspecify.annotations.NullMarked;
