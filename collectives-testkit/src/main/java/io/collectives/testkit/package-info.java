/**
 * For tests of programs that use the library: {@link io.collectives.testkit.Faults} of a seed.
 *
 * <p>For the library's own, and for other implementations of its extension points, contract tests:
 * what every implementation of an extension point must do, as abstract JUnit classes to extend; and
 * what they and other tests have in common: ranks as threads, and transports that do what another
 * one does but for one thing.
 *
 * <p>This package must not know any implementation; it sees the interfaces only.
 */
@NullMarked
package io.collectives.testkit;

import org.jspecify.annotations.NullMarked;
