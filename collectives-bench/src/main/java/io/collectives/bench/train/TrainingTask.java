package io.collectives.bench.train;

import io.collectives.bench.model.Model;
import io.collectives.bench.perf.AlgorithmChoice;
import java.time.Duration;

/**
 * What all ranks of a run agree on.
 *
 * @param steps how many are timed and checked, at least 1
 * @param warmUp how long the all-reduce is repeated before, at least three times
 * @param seed of the gradients
 */
public record TrainingTask(
    Model model, AlgorithmChoice algorithm, int steps, Duration warmUp, long seed) {}
