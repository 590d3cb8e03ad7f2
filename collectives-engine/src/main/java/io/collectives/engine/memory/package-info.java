/**
 * The elements of a call: memories that store, replace and reduce ranges of elements, and the
 * kernels beneath them.
 *
 * <p>Nothing here may know ranks, plans or transports; a frame is bytes, and who sent it is
 * nobody's business here.
 */
@NullMarked
package io.collectives.engine.memory;

import org.jspecify.annotations.NullMarked;
