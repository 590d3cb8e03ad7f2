/**
 * Plans, which are the algorithms of this library, and the verifier that proves them right.
 *
 * <p>A plan knows ranks and chunks; it must not know bytes, element types, transports or threads.
 */
@NullMarked
package io.collectives.plan;

import org.jspecify.annotations.NullMarked;
