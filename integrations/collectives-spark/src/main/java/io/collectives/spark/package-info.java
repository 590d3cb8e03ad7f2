/**
 * Jobs whose ranks are the tasks of a barrier stage of Spark.
 *
 * <p>This package must not know what the ranks compute: it knows Spark's tasks and the public API
 * of the library alone.
 */
@NullMarked
package io.collectives.spark;

import org.jspecify.annotations.NullMarked;
