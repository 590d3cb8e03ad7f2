/**
 * JMH benchmarks of single layers, each by itself.
 *
 * <p>They must not know the command line, which starts them by name.
 */
@NullMarked
package io.collectives.bench.jmh;

import org.jspecify.annotations.NullMarked;
