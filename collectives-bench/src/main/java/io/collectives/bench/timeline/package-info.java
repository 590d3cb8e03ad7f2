/**
 * The traces of the ranks of a job: read, laid side by side on one clock, searched for who waits
 * for whom, and drawn.
 */
@NullMarked
package io.collectives.bench.timeline;

import org.jspecify.annotations.NullMarked;
