/**
 * The transport between threads of one JVM: frames are views of the sender's memory, and nothing is
 * copied to be sent.
 *
 * <p>It must not know plans or elements.
 */
@NullMarked
package io.collectives.engine.inprocess;

import org.jspecify.annotations.NullMarked;
