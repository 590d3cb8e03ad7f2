/**
 * Sums of memory outside the heap, and narrow numbers, by the Vector API of the JDK. It has nothing
 * to import: where it is found, and the JVM was started with {@code --add-modules
 * jdk.incubator.vector}, the engine uses it.
 */
module io.collectives.vector {
  requires io.collectives.api;
  requires static jdk.incubator.vector;

  provides io.collectives.internal.MemoryKernels with
      io.collectives.vector.VectorKernels;
}
