/**
 * Data-parallel training of PyTorch models through JavaCPP's {@code org.bytedeco:pytorch}. It knows
 * the public {@link io.collectives.Communicator} alone, and no transport.
 */
@NullMarked
package io.collectives.pytorch;

import org.jspecify.annotations.NullMarked;
