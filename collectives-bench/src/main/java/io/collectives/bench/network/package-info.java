/**
 * Hosts with links of their own on one machine: network namespaces of Linux, whose packets can be
 * made to vanish and whose links can be made slow.
 *
 * <p>This package must not know what runs on the hosts: it names no communicator and no benchmark.
 */
@NullMarked
package io.collectives.bench.network;

import org.jspecify.annotations.NullMarked;
