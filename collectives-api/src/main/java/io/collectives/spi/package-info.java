/**
 * The plug points: algorithms that become plans, transports that carry frames, places where the
 * ranks of a job meet, and the runtime that brings them together.
 *
 * <p>A transport begins with {@link io.collectives.spi.TransportProvider}, and has to know {@link
 * io.collectives.spi.Transport}, {@link io.collectives.spi.Link}, {@link
 * io.collectives.spi.FrameSink}, {@link io.collectives.spi.FrameHeader}, {@link
 * io.collectives.spi.FrameBody} and {@link io.collectives.spi.FrameBytes}. All else that concerns
 * transports here belongs to {@linkplain io.collectives.spi.Transport#capability capabilities},
 * which a transport may leave out. {@code TransportContractTest} of collectives-testkit tries what
 * these interfaces say.
 *
 * <p>An algorithm must not see a transport, and a transport must not see a plan or an element; only
 * a runtime sees all.
 */
@NullMarked
package io.collectives.spi;

import org.jspecify.annotations.NullMarked;
