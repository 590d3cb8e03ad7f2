package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Reductions of several operands, with sums by kernels wherever there is one. */
class OrderedReductionByKernelsTest extends OrderedReductionTest {
  @Override
  Kernels kernels() {
    assumeTrue(Kernels.areTried(), "C2, without which vectors are a hundred times slower");
    return KernelsTest.untried();
  }
}
