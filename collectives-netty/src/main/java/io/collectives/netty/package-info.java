/**
 * Sockets: a transport over TCP or Unix-domain sockets whose event loop is driven by whoever waits,
 * and a rendezvous over TCP at which rank 0 listens.
 *
 * <p>This package must not know what frames mean: it names no plan, no element and no call.
 */
@NullMarked
package io.collectives.netty;

import org.jspecify.annotations.NullMarked;
