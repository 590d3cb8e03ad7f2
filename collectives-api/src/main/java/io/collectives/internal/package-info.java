/**
 * The code that the library's own modules share and users do not see: how frames and messages lie
 * in bytes, what tells calls apart, how modules and hosts are found, and the log.
 *
 * <p>Nothing here is promised to anybody: it may change with any version.
 */
@NullMarked
package io.collectives.internal;

import org.jspecify.annotations.NullMarked;
