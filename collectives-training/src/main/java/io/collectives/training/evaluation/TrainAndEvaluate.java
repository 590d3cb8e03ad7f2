package io.collectives.training.evaluation;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.Predicate;

/**
 * A loop of training steps with an evaluation after every so many of them, by all ranks (Kumar et
 * al. 2019, section 2). The metrics of an evaluation are added up while training goes on: they are
 * waited for when the next evaluation has begun, or at the end.
 */
public final class TrainAndEvaluate {
  private TrainAndEvaluate() {}

  /**
   * What was found after a step.
   *
   * @param step how many steps had been made
   * @param <M> the type of the metrics
   */
  public record Point<M>(long step, M metrics) {}

  /**
   * Trains and evaluates. All ranks call this, with the same numbers.
   *
   * @param steps to make at most
   * @param every how many steps lie between two evaluations, at least 1; the last one is after the
   *     last step
   * @param train makes the step of a number from 0 on
   * @param evaluate evaluates this rank's share and starts to add up, as by {@link
   *     Evaluation#reduceAsync}; it is told how many steps have been made
   * @param isEnough ends the loop when metrics are good enough; the same on all ranks, because they
   *     see the same metrics. At most {@code every} more steps have been made by then
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
