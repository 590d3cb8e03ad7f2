/**
 * The plans of algorithms without servers: rings, tori, the direct exchange, halving and doubling,
 * trees.
 *
 * <p>They know ranks, meshes and chunks; they must not know bytes, transports or engines, and have
 * no state.
 */
@NullMarked
package io.collectives.torus;

import org.jspecify.annotations.NullMarked;
