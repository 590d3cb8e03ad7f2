/** Metrics of the calls of a rank, for Micrometer. */
@NullMarked
package io.collectives.micrometer;

import org.jspecify.annotations.NullMarked;
