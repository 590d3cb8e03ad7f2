package io.collectives.engine.memory;

/**
 * Distances from the beginning of one run to that of the next when runs are copied. Where there is
 * one run only they do not matter.
 *
 * @param target in what is copied to
 * @param source in what is copied from
 */
record Strides(int target, int source) {}
