/**
 * An optimiser for Tribuo that sums the gradients of all ranks.
 *
 * <p>This package must not know how ranks find each other: it is given their communicator.
 */
@NullMarked
package io.collectives.tribuo;

import org.jspecify.annotations.NullMarked;
