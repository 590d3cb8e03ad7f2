/**
 * Test support for programs that use the library: {@link io.collectives.testkit.Faults}, which a
 * seed repeats.
 *
 * <p>It also has contract tests for all implementations of the library's extension points: abstract
 * JUnit classes that test what every implementation must do. With them are tools for these and
 * other tests: ranks as threads, and transports that forward to another one with one change.
 *
 * <p>The numbers of a result depend on the plan, and the course of failures on the transport. So
 * the author of an algorithm extends {@link io.collectives.testkit.PlanContractTest}, {@link
 * io.collectives.testkit.AllReduceNumbersTest} and {@link
 * io.collectives.testkit.CollectivesNumbersTest}, and gives its name: it runs between threads. The
 * author of a transport extends {@link io.collectives.testkit.TransportContractTest}, and {@link
 * io.collectives.testkit.CallContractTest}, {@link io.collectives.testkit.CollectivesContractTest},
 * {@link io.collectives.testkit.FailureContractTest} and the others, with a method that opens
 * ranks; two algorithms are enough, such as a ring, in which a rank has few peers, and {@code
 * direct}, in which it has all.
 *
 * <p>This package must not know any implementation; it sees the interfaces only.
 */
@NullMarked
package io.collectives.testkit;

import org.jspecify.annotations.NullMarked;
