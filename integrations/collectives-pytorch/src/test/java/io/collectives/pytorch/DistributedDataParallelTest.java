package io.collectives.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.ReduceOp;
import io.collectives.testkit.Faults;
import io.collectives.testkit.RankThreads;
import java.util.List;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two ranks that are threads. */
@Timeout(60)
class DistributedDataParallelTest {
  @BeforeAll
  static void load() {
    Natives.load();
  }

  private static void run(RankThreads.Body body) throws Exception {
    Faults.seed(1).run(2, body::run);
  }

  /** Two layers that have one weight each, of which the second can be left out. */
  private static final class TwoWeights extends Module {
    private final LinearImpl first = new LinearImpl(1, 1);
    private final LinearImpl second = new LinearImpl(1, 1);

    TwoWeights(double weight) {
      register_module("first", first);
      register_module("second", second);
      for (LinearImpl layer : List.of(first, second)) {
        layer.weight().detach().fill_(new org.bytedeco.pytorch.Scalar(weight));
        layer.bias().detach().zero_();
      }
    }

    Tensor loss(double x, boolean usesSecond) {
      Tensor y = first.forward(Tensor.create(new float[] {(float) x}, 1, 1));
      return (usesSecond ? second.forward(y) : y).mean();
    }
  }

  @Test
  void hooksOutliveGarbageCollectionsAndEndWithTheObject() throws Exception {
    run(
        world -> {
          TwoWeights model = new TwoWeights(2 + world.rank());
          SGD sgd = new SGD(model.parameters(), new SGDOptions(0.01));
          DistributedDataParallel parallel = DistributedDataParallel.of(world, model);
          Tensor gradient = model.first.weight().grad();
          long address = gradient.data_ptr().address();
          for (int step = 0; step < 20; step++) {
            System.gc();
            sgd.zero_grad(false);
            double weight = model.second.weight().item_double();
            parallel.backward(model.loss(1 + 2 * world.rank(), true));
            // d loss / d first.weight = x second.weight; x is 1 and 3.
            assertEquals(2 * weight, model.first.weight().grad().item_double(), 1e-5);
            assertEquals(address, model.first.weight().grad().data_ptr().address());
            sgd.step();
          }
          parallel.close();
          for (int i = 0; i < 5; i++) {
            System.gc();
            sgd.zero_grad(false);
            double weight = model.second.weight().item_double();
            model.loss(1 + 2 * world.rank(), true).backward();
            double expected = (1 + 2 * world.rank()) * weight;
            assertEquals(expected, model.first.weight().grad().item_double(), 1e-5);
          }
        });
  }

  @Test
  void anUnusedParameterIsAnErrorUnlessItIsAllowed() throws Exception {
    run(
        world -> {
          TwoWeights model = new TwoWeights(2);
          try (DistributedDataParallel parallel = DistributedDataParallel.of(world, model)) {
            AbortedException error =
                assertThrows(AbortedException.class, () -> parallel.backward(model.loss(1, false)));
            assertTrue(error.getMessage().contains("\"second."), error.getMessage());
          }
          FusionSettings settings = FusionSettings.defaults().withFindUnused(true);
          try (DistributedDataParallel parallel =
              DistributedDataParallel.of(world, model, settings)) {
            model.zero_grad(true);
            parallel.backward(model.loss(1, world.rank() == 1));
            // Rank 0 has the gradient x = 1, rank 1 has x weight = 2; only rank 1 uses the second.
            assertEquals(1.5, model.first.weight().grad().item_double(), 1e-6);
            assertEquals(1, model.second.weight().grad().item_double(), 1e-6);
            model.zero_grad(false);
            parallel.accumulate(model.loss(1, true));
            parallel.backward(model.loss(1, false)); // Leaves what the first pass has added.
            assertEquals(2, model.second.weight().grad().item_double(), 1e-6);
            model.zero_grad(false);
            parallel.backward(model.loss(1, false));
            assertEquals(0, model.second.weight().grad().item_double(), 1e-6);
          }
        });
  }

  @Test
  void aFailedBackwardPassEndsTheStepOfAll() throws Exception {
    run(
        world -> {
          TwoWeights model = new TwoWeights(2);
          try (DistributedDataParallel parallel = DistributedDataParallel.of(world, model)) {
            Tensor loss = model.loss(1, true);
            if (world.rank() == 1) {
              assertThrows(RuntimeException.class, () -> parallel.backward(loss.detach()));
            } else {
              AbortedException error =
                  assertThrows(AbortedException.class, () -> parallel.backward(loss));
              assertTrue(
                  error.getMessage().contains("rank 1: its backward pass failed"),
                  error.getMessage());
            }
          }
        });
  }

  @Test
  void weightsAndBuffersBeginAsThoseOfRank0() throws Exception {
    run(
        world -> {
          BatchNorm1dImpl norm = new BatchNorm1dImpl(new BatchNormOptions(3));
          norm.running_mean().add_(new org.bytedeco.pytorch.Scalar(5.0 + world.rank()));
          norm.num_batches_tracked().add_(new org.bytedeco.pytorch.Scalar(7L + world.rank()));
          try (DistributedDataParallel parallel = DistributedDataParallel.of(world, norm)) {
            assertEquals(5, norm.running_mean().mean().item_double());
            assertEquals(7, norm.num_batches_tracked().item_double());
            norm.running_mean().add_(new org.bytedeco.pytorch.Scalar((double) world.rank()));
            norm.num_batches_tracked().add_(new org.bytedeco.pytorch.Scalar((long) world.rank()));
            parallel.averageBuffers();
            assertEquals(5.5, norm.running_mean().mean().item_double());
            assertEquals(8, norm.num_batches_tracked().item_double());
          }
        });
  }

  @Test
  void payloadsAreTheMemoryOfTensors() throws Exception {
    run(
        (Communicator world) -> {
          Tensor tensor = Tensor.create(new float[] {1, 2, 3, world.rank()}, 2, 2);
          Tensor turned = tensor.t(); // Dense, in another order of dimensions.
          world.allReduce(TensorPayload.of(turned), ReduceOp.SUM);
          float[] values = new float[4];
          tensor.data_ptr_float().get(values);
          assertArrayEquals(new float[] {2, 4, 6, 1}, values);
          assertEquals(0, TensorPayload.of(torch.zeros(0)).count());
        });
  }

  @Test
  void memoryThatCannotBeReducedIsRefused() {
    Tensor tensor = torch.zeros(4, 4);
    assertRefused("elements overlap or have gaps", tensor.narrow(1, 0, 2));
    assertRefused("sparse or not in the host's memory", tensor.to_sparse());
    assertRefused("a tensor of ComplexFloat", tensor.to(ScalarType.ComplexFloat));
  }

  private static void assertRefused(String words, Tensor tensor) {
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> TensorPayload.of(tensor));
    assertTrue(error.getMessage().contains(words), error.getMessage());
  }
}
