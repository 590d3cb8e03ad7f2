/**
 * Contract tests: what every implementation of an extension point must do, as abstract JUnit
 * classes to extend.
 *
 * <p>This package must not know any implementation; it sees the interfaces only.
 */
@NullMarked
package io.collectives.testkit;

import org.jspecify.annotations.NullMarked;
