/**
 * Parameters that servers keep and update: workers push gradients and pull weights ({@link
 * io.collectives.ps.store.ParameterStore}), in step with each other or apart from each other.
 *
 * <p>It stands on communicators, and on files for its snapshots; it must not know plans' insides,
 * bytes on links, transports or engines.
 */
@NullMarked
package io.collectives.ps.store;

import org.jspecify.annotations.NullMarked;
