/**
 * The contract of all-reduce for every algorithm on every transport, and whole jobs of several
 * JVMs.
 *
 * <p>This package must not know how any module does its work: it uses the API alone.
 */
@NullMarked
package io.collectives.all;

import org.jspecify.annotations.NullMarked;
