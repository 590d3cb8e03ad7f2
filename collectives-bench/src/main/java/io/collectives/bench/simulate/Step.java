package io.collectives.bench.simulate;

import io.collectives.Collective;
import java.util.List;

/**
 * The times of a training step, in nanoseconds.
 *
 * @param inputNanos how long the step waits for its input
 * @param forwardNanos of the forward pass
 * @param backwardNanos of the backward pass, if nothing disturbed it
 * @param backwardEnd when that pass is over, after the beginning of the step
 * @param updateNanos of what a rank updates
 * @param nanos of the whole step
 * @param calls all calls, in the order in which they begin
 */
public record Step(
    double inputNanos,
    double forwardNanos,
    double backwardNanos,
    double backwardEnd,
    double updateNanos,
    double nanos,
    List<Call> calls) {

  /** Its own list. */
  public Step {
    calls = List.copyOf(calls);
  }

  /**
   * A call of the step.
   *
   * @param bytes of the payload
   * @param begin after the beginning of the step
   * @param end after the beginning of the step
   * @param nanos what it would take alone; it ends later if it shares links with the one before it
   */
  public record Call(Collective collective, long bytes, double begin, double end, double nanos) {}

  /** Returns what the calls would take one after the other. */
  public double callNanos() {
    return calls.stream().mapToDouble(Call::nanos).sum();
  }

  /** Returns how much longer the step is than what is computed, because of its calls. */
  public double exposedNanos() {
    return Math.max(0, nanos - inputNanos - forwardNanos - backwardNanos - updateNanos);
  }

  /** Returns how much of the calls computing or other calls hide. */
  public double hiddenNanos() {
    return Math.max(0, callNanos() - exposedNanos());
  }

  /** Returns a time as a share of the step. */
  public double share(double part) {
    return nanos == 0 ? 0 : part / nanos;
  }
}
