/**
 * Sums of real numbers without rounding, whose bits do not depend on how many ranks share the work.
 *
 * <p>It must not know of ranks, groups and messages: a sum is an array of integers, which other
 * code may all-reduce.
 */
@NullMarked
package io.collectives.training.exact;

import org.jspecify.annotations.NullMarked;
