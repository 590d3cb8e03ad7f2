/**
 * Reports of runs, which the ranks of a job have written: read from files, merged, judged, and
 * drawn as a page.
 *
 * <p>This package must not know how the engine writes them: it knows their lines, and takes nothing
 * in them for granted.
 */
@NullMarked
package io.collectives.bench.runreport;

import org.jspecify.annotations.NullMarked;
