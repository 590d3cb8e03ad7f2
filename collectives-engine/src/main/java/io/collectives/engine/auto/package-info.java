/**
 * The transport that chooses for each pair of ranks between the others.
 *
 * <p>It must not know plans or elements, nor how another transport carries its frames.
 */
@NullMarked
package io.collectives.engine.auto;

import org.jspecify.annotations.NullMarked;
