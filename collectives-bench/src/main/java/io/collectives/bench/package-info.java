/**
 * The command line {@code collectives}: its commands, what they accept, and their exit statuses.
 *
 * <p>This package must not know how a collective works: it uses the public interface only, as any
 * user would.
 */
@NullMarked
package io.collectives.bench;

import org.jspecify.annotations.NullMarked;
