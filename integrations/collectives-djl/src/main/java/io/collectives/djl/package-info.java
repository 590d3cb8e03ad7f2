/**
 * Data-parallel training with DJL on its PyTorch engine. It knows the public {@link
 * io.collectives.Communicator} alone, and no transport.
 */
@NullMarked
package io.collectives.djl;

import org.jspecify.annotations.NullMarked;
