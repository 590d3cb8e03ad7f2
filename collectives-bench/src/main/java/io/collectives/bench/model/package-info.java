/**
 * The data that training jobs sum: the tensors of known models and gradients that look like theirs.
 *
 * <p>This package must not know how gradients are summed: every value is a pure function of its
 * place.
 */
@NullMarked
package io.collectives.bench.model;

import org.jspecify.annotations.NullMarked;
