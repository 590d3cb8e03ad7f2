/**
 * Parameters that servers keep and update: workers push gradients and pull weights ({@link
 * io.collectives.ps.store.ParameterStore}), synchronously or with a bounded or unbounded distance.
 *
 * <p>It stands on communicators, and on files for its checkpoints; it must not know plans' insides,
 * bytes on links, transports or engines.
 */
@NullMarked
package io.collectives.ps.store;

import org.jspecify.annotations.NullMarked;
