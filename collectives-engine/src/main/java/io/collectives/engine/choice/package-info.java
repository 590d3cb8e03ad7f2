/**
 * Which algorithm a call goes by that asks for {@link io.collectives.Algorithm#auto}: a table, what
 * looks it up for a group, and what measures a group for rows of its own.
 *
 * <p>It must not know how a call is made, nor how a transport carries bytes.
 */
@NullMarked
package io.collectives.engine.choice;

import org.jspecify.annotations.NullMarked;
