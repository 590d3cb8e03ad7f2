/**
 * The plug points: algorithms that become plans, transports that carry frames, places where the
 * ranks of a job meet, and the runtime that brings them together.
 *
 * <p>An algorithm must not see a transport, and a transport must not see a plan or an element; only
 * a runtime sees all.
 */
@NullMarked
package io.collectives.spi;

import org.jspecify.annotations.NullMarked;
