package io.collectives.engine.memory;

import io.collectives.WireType;
import java.util.Objects;

/** All that {@link NarrowWireTest} says, with kernels. */
class NarrowWireByKernelsTest extends NarrowWireTest {
  @Override
  NarrowWire narrow(WireType type) {
    Kernels kernels = KernelsTest.untried();
    return Objects.requireNonNull(NarrowWire.of(type, () -> kernels.packing(type)));
  }
}
