/**
 * Layers of networks whose batch, image, features or rows several ranks share, forward and
 * backward: {@link io.collectives.training.layer.BatchNorm}.
 *
 * <p>They stand on communicators; they must not know plans' insides, transports, engines, or how
 * weights are updated.
 *
 * <p>Arrays of images are in the order of batch, channel, row, column; a <em>sample</em> is all
 * channels of one image. All ranks of a layer's group call its methods in the same order, among
 * their other calls on that group. An object is for one thread at a time, and for one pair of
 * forward and backward passes after the other.
 */
@NullMarked
package io.collectives.training.layer;

import org.jspecify.annotations.NullMarked;
