/** Kernels of the engine by the Vector API, which is an incubator module of the JDK. */
@NullMarked
package io.collectives.vector;

import org.jspecify.annotations.NullMarked;
