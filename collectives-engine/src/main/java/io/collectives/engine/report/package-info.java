/** The report of a run that each rank writes while it trains; see {@link RunReporter}. */
@NullMarked
package io.collectives.engine.report;

import org.jspecify.annotations.NullMarked;
