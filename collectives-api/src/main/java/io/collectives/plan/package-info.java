/**
 * The plan: what an algorithm is to this library, and the proof that one is right.
 *
 * <p>A plan knows ranks and chunks; it must not know bytes, element types, transports or threads.
 */
@NullMarked
package io.collectives.plan;

import org.jspecify.annotations.NullMarked;
