/**
 * Figures for people and for programs: units, aligned columns, TSV, JSON, progress.
 *
 * <p>This package must not know where the figures come from.
 */
@NullMarked
package io.collectives.bench.report;

import org.jspecify.annotations.NullMarked;
