/**
 * Layers of networks whose samples, images, features or rows several ranks share, forward and
 * backward: {@link io.collectives.training.layer.BatchNorm} over groups, {@link
 * io.collectives.training.layer.TiledConvolution} and {@link
 * io.collectives.training.layer.TiledPooling} over tiles, {@link
 * io.collectives.training.layer.SplitDense} by features, {@link
 * io.collectives.training.layer.Embedding} by rows.
 *
 * <p>They stand on communicators and optimizers; they must not know plans' insides, transports or
 * engines.
 *
 * <p>Arrays of images are in the order of sample, channel, row, column; a <em>plane</em> is one
 * channel of one sample. All ranks of a layer's group call its methods in the same order, among
 * their other calls on that group. One thread at a time may use an object, for one pair of forward
 * and backward passes after the other. Weights are arrays of the layer, which the program sets, and
 * registers with the optimizer that updates them; each backward pass sets their gradients, which
 * are those of this rank.
 */
@NullMarked
package io.collectives.training.layer;

import org.jspecify.annotations.NullMarked;
