/**
 * The plans of the parameter server (Herring, Thangakrishnan et al. 2020), in which some ranks
 * serve the others.
 *
 * <p>They know ranks and chunks; they must not know bytes, transports or engines.
 */
@NullMarked
package io.collectives.ps;

import org.jspecify.annotations.NullMarked;
