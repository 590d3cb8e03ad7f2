/**
 * Real processes that are killed, stopped and disconnected while they join and sum, or to which
 * unauthenticated peers connect, and what they report.
 *
 * <p>This package must not know how the engine finds out: it names signals, connections and packets
 * of the system on one side, and the public interface on the other; but for {@link
 * io.collectives.bench.chaos.Eavesdropper}, which joins a job by the service provider interfaces.
 */
@NullMarked
package io.collectives.bench.chaos;

import org.jspecify.annotations.NullMarked;
