package io.collectives.pytorch;

import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.pytorch.DigitsNet.Examples;
import io.collectives.pytorch.DigitsNet.Norm;
import java.util.Locale;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains on 1,024 digits in the ways that the arguments name, one after the other, and prints the
 * loss of all digits after each. The digits are dealt into four shares; one process has all shares,
 * and each of four processes has one.
 */
final class DigitsTraining {
  private static final int SHARES = 4;
  private static final int STEPS = 50;
  private static final double RATE = 0.5;

  /** Ways to train. */
  enum Way {
    /** The usual way: gradients are cleared where they lie. */
    PLAIN,
    /** Gradients are dropped before each step. */
    DROPPED,
    /** The program runs the backward pass itself, after gradients were dropped. */
    DIRECT,
    /** Each step has four passes, three of which exchange nothing. */
    MICRO,
    /** Share i has data for 35 + 5 i steps. */
    UNEVEN,
    /** Each rank normalises its batch by itself. */
    LOCAL_NORM,
    /** Batches are normalised by the statistics of all ranks. */
    SYNC_NORM,
    /** Rank 2 ends without a word in step 5. */
    KILLED
  }

  private final Communicator world;
  private final Way way;
  private final DigitsNet model;
  private final SGD sgd;

  private DigitsTraining(Communicator world, Way way) {
    this.world = world;
    this.way = way;
    torch.manual_seed(7L + world.rank()); // Rank 0's weights are broadcast.
    Norm norm =
        switch (way) {
          case LOCAL_NORM -> Norm.LOCAL;
          case SYNC_NORM -> Norm.SYNC;
          default -> Norm.NONE;
        };
    model = new DigitsNet(norm, new SyncBatchNorm(world));
    sgd = new SGD(model.parameters(), new SGDOptions(RATE));
  }

  public static void main(String[] args) {
    Natives.load();
    try (Communicator world = Collectives.join()) {
      for (String arg : args) {
        new DigitsTraining(world, Way.valueOf(arg)).run();
      }
    } catch (CollectiveException e) {
      System.out.println("error " + e.getClass().getSimpleName() + ": " + e.getMessage());
      System.exit(3);
    }
  }

  private void run() {
    FusionSettings settings = FusionSettings.defaults().withFirstBufferLength(4096);
    boolean isUneven = way == Way.UNEVEN;
    try (DistributedDataParallel parallel =
        DistributedDataParallel.of(world, model, settings.withUneven(isUneven))) {
      for (int step = 0; step < STEPS; step++) {
        if (way == Way.KILLED && world.rank() == 2 && step == 5) {
          Runtime.getRuntime().halt(9);
        }
        int now = step;
        Examples mine = shares(share -> !isUneven || now < 35 + 5 * share);
        if (mine == null) {
          break;
        }
        clear(way == Way.DROPPED || way == Way.DIRECT || isUneven);
        if (way == Way.DIRECT) {
          model.loss(mine).backward();
          parallel.await();
        } else if (way == Way.MICRO) {
          passes(parallel, mine);
        } else {
          parallel.backward(model.loss(mine));
        }
        sgd.step();
      }
      while (isUneven && parallel.join()) {
        sgd.step();
        clear(true);
      }
      print("local", model.runningMean());
      parallel.averageBuffers();
      print("mean", model.runningMean());
    }
    evaluate();
  }

  private void clear(boolean isDropped) {
    sgd.zero_grad(isDropped);
  }

  /** Returns this rank's share of the digits, or shares; null if it has none. */
  private Examples shares(IntPredicate hasData) {
    return IntStream.range(0, SHARES)
        .filter(share -> share % world.size() == world.rank() && hasData.test(share))
        .mapToObj(share -> Examples.read(share, SHARES, DigitsNet.EXAMPLES / SHARES))
        .reduce(Examples::and)
        .orElse(null);
  }

  private void passes(DistributedDataParallel parallel, Examples mine) {
    int passes = 4;
    long length = mine.labels().numel() / passes;
    for (int i = 0; i < passes; i++) {
      Examples part = mine.slice(i * length, length);
      org.bytedeco.pytorch.Tensor loss = model.loss(part).div(new Scalar((double) passes));
      if (i < passes - 1) {
        parallel.accumulate(loss);
      } else {
        parallel.backward(loss);
      }
    }
  }

  @SuppressWarnings("try")
  private void evaluate() {
    model.train(false);
    try (NoGradGuard unrecorded = new NoGradGuard()) {
      Examples all = Examples.read(0, 1, DigitsNet.EXAMPLES);
      print("loss", model.loss(all).item_double());
    }
  }

  private void print(String what, double value) {
    System.out.printf(Locale.ROOT, "%s %s %.9g%n", way, what, value);
  }
}
