/**
 * Real processes that are killed, stopped and disconnected while they join and sum, or visited by
 * strangers, and what they say of it.
 *
 * <p>This package must not know how the engine finds out: it names signals, connections and packets
 * of the system on one side, and the public interface on the other; but for {@link
 * io.collectives.bench.chaos.Eavesdropper}, which takes a seat by the plug points.
 */
@NullMarked
package io.collectives.bench.chaos;

import org.jspecify.annotations.NullMarked;
