package io.collectives.training.evaluation;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.Predicate;

/**
 * A loop of training steps, by all ranks, with an evaluation after every few of them (Kumar et al.
 * 2019, section 2). The metrics of an evaluation are added up while training goes on: the loop
 * waits for them when the next evaluation has begun, or at the end.
 */
public final class TrainAndEvaluate {
  private TrainAndEvaluate() {}

  /**
   * The metrics after a step.
   *
   * @param step the number of steps that had been made
   * @param <M> the type of the metrics
   */
  public record Point<M>(long step, M metrics) {}

  /**
   * Trains and evaluates. All ranks call this, with the same numbers.
   *
   * @param steps the largest number of steps
   * @param every the number of steps between two evaluations, at least 1; the last evaluation is
   *     after the last step
   * @param train a function that makes a step; its argument is the number of the step, from 0
   * @param evaluate a function that evaluates this rank's share and starts to add up, for example
   *     by {@link Evaluation#reduceAsync}; its argument is the number of steps that have been made
   * @param isEnough a function that ends the loop when metrics are good enough; it gives the same
   *     answer on all ranks, because they see the same metrics. At most {@code every} more steps
   *     have been made by then
   * @return all evaluations, in their order
   */
  public static <M> List<Point<M>> run(
      long steps,
      long every,
      LongConsumer train,
      LongFunction<Pending<M>> evaluate,
      Predicate<M> isEnough) {
    if (steps < 0 || every < 1) {
      throw new IllegalArgumentException(
          steps + " steps with an evaluation after every " + every + ": must be 0 and 1 at least");
    }
    List<Point<M>> points = new ArrayList<>();
    Pending<M> before = null;
    long beforeStep = 0;
    for (long step = 0; step < steps; ) {
      train.accept(step++);
      if (step % every == 0 || step == steps) {
        Pending<M> now = evaluate.apply(step);
        boolean isOver = false;
        if (before != null) {
          points.add(new Point<>(beforeStep, before.await()));
          isOver = isEnough.test(points.get(points.size() - 1).metrics);
        }
        before = now;
        beforeStep = step;
        if (isOver) {
          break;
        }
      }
    }
    if (before != null) {
      points.add(new Point<>(beforeStep, before.await()));
    }
    return points;
  }
}
