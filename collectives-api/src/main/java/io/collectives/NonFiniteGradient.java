package io.collectives;

/**
 * A gradient that is infinite or not a number, as a {@link GradientReducer} whose group {@linkplain
 * Communicator#checkingFinite() checks} its numbers has found it in a step. It is the same on all
 * ranks.
 *
 * @param worldRank the rank, counted in the whole job, that contributed the number; -1 if all
 *     contributions to the tensor's buffer are finite and the result is not
 * @param tensor the name of the tensor
 * @param index the number's position in the tensor, in elements
 * @param value an infinity or {@link Double#NaN}
 */
public record NonFiniteGradient(int worldRank, String tensor, long index, double value) {}
