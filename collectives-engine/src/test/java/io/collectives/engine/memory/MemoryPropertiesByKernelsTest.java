package io.collectives.engine.memory;

/** Every method of a memory, with sums by kernels wherever there is one. */
class MemoryPropertiesByKernelsTest extends MemoryPropertiesTest {
  @Override
  Kernels kernels() {
    return KernelsTest.untried();
  }
}
