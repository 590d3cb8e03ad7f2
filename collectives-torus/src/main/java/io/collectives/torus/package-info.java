/**
 * The plans of algorithms in which every rank does the same: rings, tori, the direct exchange.
 *
 * <p>They know ranks, meshes and chunks; they must not know bytes, transports, engines, or each
 * other's state, of which there is none.
 */
@NullMarked
package io.collectives.torus;

import org.jspecify.annotations.NullMarked;
