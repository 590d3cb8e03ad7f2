/**
 * The runtime that users reach by {@link io.collectives.Collectives}: joins jobs, drives engines,
 * and is the communicators.
 *
 * <p>It must not know how a plan is run, nor how a transport carries bytes.
 */
@NullMarked
package io.collectives.engine;

import org.jspecify.annotations.NullMarked;
