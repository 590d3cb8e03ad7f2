/**
 * Partial sums of language models that Jlama runs on several ranks.
 *
 * <p>This package must not know how ranks find each other: it is given their communicator.
 */
@NullMarked
package io.collectives.jlama;

import org.jspecify.annotations.NullMarked;
