/**
 * For tests of programs that use the library: {@link io.collectives.testkit.Faults} of a seed.
 *
 * <p>For the library's own, and for other implementations of its extension points, contract tests:
 * what every implementation of an extension point must do, as abstract JUnit classes to extend; and
 * what they and other tests have in common: ranks as threads, and transports that do what another
 * one does but for one thing.
 *
 * <p>Numbers depend on a plan, what happens when something goes wrong on a transport. So who writes
 * an algorithm extends {@link io.collectives.testkit.PlanContractTest}, {@link
 * io.collectives.testkit.AllReduceNumbersTest} and {@link
 * io.collectives.testkit.CollectivesNumbersTest}, and says its name: it is run between threads. Who
 * writes a transport extends {@link io.collectives.testkit.TransportContractTest}, and {@link
 * io.collectives.testkit.CallContractTest}, {@link io.collectives.testkit.CollectivesContractTest},
 * {@link io.collectives.testkit.FailureContractTest} and the others, and says how ranks are opened;
 * two algorithms are enough, such as a ring, in which a rank has few peers, and {@code direct}, in
 * which it has all.
 *
 * <p>This package must not know any implementation; it sees the interfaces only.
 */
@NullMarked
package io.collectives.testkit;

import org.jspecify.annotations.NullMarked;
