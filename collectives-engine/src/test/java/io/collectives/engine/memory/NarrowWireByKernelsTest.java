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

  /** Blocks for which there are loops over vectors, and one for which there are none. */
  @Override
  int[] counts() {
    return new int[] {
      Converter8.BLOCK / 2,
      Converter8.BLOCK / 4 * 3,
      Converter16.BLOCK + Elements.SHORT + 1,
      2 * Converter16.BLOCK
    };
  }
}
