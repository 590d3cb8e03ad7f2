package io.collectives.bench.compare;

import io.collectives.Collective;

/**
 * The job for which the processes of a peer are started.
 *
 * @param collective the only one that they make
 * @param variant one of those that the peer has for it
 * @param medium what its bytes move through
 * @param ranks how many there are
 */
public record PeerJob(Collective collective, String variant, Medium medium, int ranks) {}
