/**
 * Tests of the transport that chooses, with all that it can choose between.
 *
 * <p>They are here because the engine does not know Netty.
 */
@NullMarked
package io.collectives.engine.auto;

import org.jspecify.annotations.NullMarked;
