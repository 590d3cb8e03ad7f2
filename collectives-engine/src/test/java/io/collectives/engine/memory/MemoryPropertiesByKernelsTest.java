package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Every method of a memory, with sums by kernels wherever there is one. */
class MemoryPropertiesByKernelsTest extends MemoryPropertiesTest {
  @Override
  Kernels kernels() {
    assumeTrue(Kernels.areTried(), "C2, without which vectors are a hundred times slower");
    return KernelsTest.untried();
  }
}
