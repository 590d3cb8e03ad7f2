package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.BufferReduction;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.GradientReducer.Tensor;
import io.collectives.Payload;
import io.collectives.StepReport;
import io.collectives.StepReport.Buffer;
import io.collectives.StepReport.Phases;
import io.collectives.StepReport.Times;
import io.collectives.TimedReduction;
import io.collectives.testkit.RankThreads;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A step is explained by what was ready when. */
@Tag("once")
class StepReportTest {
  private static final FusionSettings SMALL =
      FusionSettings.defaults().withBufferLength(80).withFirstBufferLength(80);

  @Test
  void overlapIsTheShareOfTheSumsBeforeAwait() {
    StepReport step =
        new StepReport(
            7,
            new Phases(5_000_000, 10_000_000, 6_000_000),
            Double.NaN,
            List.of(
                new Buffer(0, 0, 100, 2, "a", new Times(0, 2_000_000, 2_000_000, 6_000_000)),
                new Buffer(
                    1, 1, 200, 1, "b", new Times(3_000_000, 4_000_000, 4_000_000, 8_000_000)),
                new Buffer(
                    2, 0, 300, 1, "c", new Times(4_000_000, 5_000_000, 9_000_000, 15_000_000))));
    // Under way from 2 to 8 and from 9 to 15 ms; the program waits from 10 ms on.
    assertEquals(12_000_000, step.sumNanos());
    assertEquals(7_000_000, step.hiddenNanos());
    assertEquals(7 / 12.0, step.overlap(), 1e-12);
    assertEquals(21_000_000, step.nanos());
    List<String> lines = step.toString().lines().toList();
    assertEquals(
        "step 7 took 21.00 ms: 5.00 ms before the first gradient, 10.00 ms of backward pass,"
            + " 6.00 ms in await()",
        lines.get(0));
    assertEquals(
        "600 bytes were summed in 3 buffers in 12.00 ms, of which 7.00 ms (58 %) were hidden behind"
            + " the backward pass",
        lines.get(1));
    assertTrue(lines.get(3).matches(" +0 +0 +100 +2 .* its tensors +a"), lines.get(3));
    assertTrue(lines.get(5).matches(" +2 +0 +300 +1 .* buffer 0 +c"), lines.get(5));
  }

  @Test
  void buffersNameTheTensorThatClosedThem() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(2, CallSettings.defaults());
    RankThreads.run(
        worlds,
        world -> {
          try (GradientReducer reducer = GradientReducer.of(world, SMALL)) {
            Tensor[] tensors = new Tensor[4];
            for (int i = 0; i < 4; i++) {
              tensors[i] = reducer.register("t" + i, Payload.of(new float[10]));
            }
            assertThrows(IllegalStateException.class, reducer::report);
            step(reducer, tensors, 3, 2, 1, 0);
            assertEquals(0, reducer.report().step());
            assertEquals("", reducer.report().buffers().get(0).closedBy());
            reducer.loss(0.25);
            // The buffers are {3, 2} and {1, 0}.
            step(reducer, tensors, 2, 1, 0, 3);
            StepReport second = reducer.report();
            assertEquals(1, second.step());
            assertEquals(0.25, second.loss());
            assertEquals(2, second.buffers().size());
            assertEquals("t3", second.buffers().get(0).closedBy());
            assertEquals("t0", second.buffers().get(1).closedBy());
            assertEquals(160, second.bytes());
            assertTrue(second.phases().outsideNanos() > 0);
            for (Buffer buffer : second.buffers()) {
              Times times = buffer.times();
              assertTrue(times.firstNanos() <= times.readyNanos(), second.toString());
              assertTrue(times.readyNanos() <= times.begunNanos(), second.toString());
              assertTrue(times.begunNanos() <= times.endedNanos(), second.toString());
              assertTrue(times.readyNanos() <= second.phases().backwardNanos(), second.toString());
            }
            // The first buffer became ready after the second one.
            assertTrue(
                second.buffers().get(0).times().readyNanos()
                    > second.buffers().get(1).times().readyNanos(),
                second.toString());
            assertTrue(second.hiddenNanos() <= second.sumNanos());
            step(reducer, tensors, 0, 1, 2, 3);
            assertTrue(Double.isNaN(reducer.report().loss()));
            assertEquals("t1", reducer.report().buffers().get(1).closedBy());
          }
        });
    worlds.forEach(Communicator::close);
  }

  private static void step(GradientReducer reducer, Tensor[] tensors, int... order) {
    for (int tensor : order) {
      reducer.ready(tensors[tensor]);
    }
    reducer.await();
  }

  @Test
  void aNoopLeavesGradientsAndATimerCountsBuffers() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(2, CallSettings.defaults());
    RankThreads.run(
        worlds,
        world -> {
          float[] gradients = {world.rank(), 5};
          TimedReduction timed = BufferReduction.timed(BufferReduction.noop());
          try (GradientReducer reducer = GradientReducer.of(world, SMALL, timed)) {
            Tensor tensor = reducer.register("t", Payload.of(gradients));
            for (int i = 0; i < 3; i++) {
              step(reducer, new Tensor[] {tensor}, 0);
            }
          }
          assertEquals(world.rank(), gradients[0]);
          assertEquals(3, timed.totals().calls());
          assertEquals(24, timed.totals().bytes());
          assertEquals(0, timed.totals().failedCalls());
          TimedReduction sums = BufferReduction.timed(BufferReduction.allReduce(world, 2));
          try (GradientReducer reducer = GradientReducer.of(world, SMALL, sums)) {
            Tensor tensor = reducer.register("t", Payload.of(gradients));
            step(reducer, new Tensor[] {tensor}, 0);
          }
          assertEquals(0.5f, gradients[0]);
          // Who ends a call counts it, and may still be about to when the others see that it ended.
          Awaitility.await().until(() -> sums.totals().calls() == 1);
          assertTrue(sums.totals().nanos() > 0);
        });
    worlds.forEach(Communicator::close);
  }
}
