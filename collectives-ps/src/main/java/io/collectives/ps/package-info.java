/**
 * The parameter server of Herring (Thangakrishnan et al. 2020): its plan, in which some ranks serve
 * the others, and {@link io.collectives.ps.ParameterServers} for training loops. Servers that keep
 * the parameters and apply the optimizer are in {@code io.collectives.ps.store}.
 *
 * <p>It knows ranks, chunks and communicators; it must not know bytes on links, transports or
 * engines.
 */
@NullMarked
package io.collectives.ps;

import org.jspecify.annotations.NullMarked;
