/**
 * The report of a run that each rank writes while it trains; see {@link RunReporter}.
 *
 * <p>It must not know the engine: it reads what any program can ask of a communicator.
 */
@NullMarked
package io.collectives.engine.report;

import org.jspecify.annotations.NullMarked;
