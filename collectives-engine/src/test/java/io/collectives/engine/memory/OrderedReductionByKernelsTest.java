package io.collectives.engine.memory;

/** Reductions of several operands, with sums by kernels wherever there is one. */
class OrderedReductionByKernelsTest extends OrderedReductionTest {
  @Override
  Kernels kernels() {
    return KernelsTest.untried();
  }
}
