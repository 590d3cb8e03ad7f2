package io.collectives.tribuo;

import com.oracle.labs.mlrg.olcut.provenance.ConfiguredObjectProvenance;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import org.tribuo.math.Parameters;
import org.tribuo.math.StochasticGradientOptimiser;
import org.tribuo.math.la.DenseMatrix;
import org.tribuo.math.la.DenseVector;
import org.tribuo.math.la.Matrix;
import org.tribuo.math.la.MatrixTuple;
import org.tribuo.math.la.SGDVector;
import org.tribuo.math.la.Tensor;
import org.tribuo.math.la.VectorTuple;

/**
 * An optimiser that sums the gradients of all ranks in each step and gives the sums to another one,
 * so that a trainer of Tribuo at each of n ranks, with the same settings and its part of the
 * examples, ends with the weights of one trainer with minibatches of n times the size.
 *
 * <pre>{@code
 * try (Communicator world = Collectives.join()) {
 *   var optimiser = new AllReduceOptimiser(new AdaGrad(0.1), world);
 *   var trainer =
 *       new LinearSGDTrainer(new LogMulticlass(), optimiser, epochs, 64, Trainer.DEFAULT_SEED);
 *   Model<Label> model = trainer.train(partOfTheExamples);
 * }
 * }</pre>
 *
 * <p>Every rank must have the same features and labels, the same settings, and examples for the
 * same number of minibatches, or its collective calls do not fit those of the others. Where a
 * trainer initialises weights at random, those of rank 0 are taken.
 *
 * <p>Tribuo hands over the sum of a minibatch's gradients times its size, and the sum of its
 * weights divided by it. So what the optimiser of one process would get is the sum of what the
 * ranks have times n, and the average of their weights.
 *
 * <p>Gradients of sparse examples are made dense, as every rank has other features in them.
 *
 * <p>Threads: as the wrapped optimiser; one training at a time, as it uses the communicator. The
 * communicator stays its owner's.
 */
public final class AllReduceOptimiser implements StochasticGradientOptimiser {
  private final StochasticGradientOptimiser optimiser;
  private final Communicator world;
  private double[] values = {};

  /**
   * Makes an optimiser of another one.
   *
   * @param optimiser takes the steps, the same ones at each rank
   * @param world the ranks that train together
   */
  public AllReduceOptimiser(StochasticGradientOptimiser optimiser, Communicator world) {
    this.optimiser = optimiser;
    this.world = world;
  }

  /** Gives all ranks the parameters of rank 0, and initialises the wrapped optimiser. */
  @Override
  public void initialise(Parameters parameters) {
    Tensor[] weights = parameters.get();
    gather(weights, 0);
    world.broadcast(Payload.of(values), 0);
    parameters.set(scatter(weights));
    optimiser.initialise(parameters);
  }

  /**
   * Takes a step with the gradients of all ranks.
   *
   * @return the updates, which are the same at all ranks
   */
  @Override
  public Tensor[] step(Tensor[] gradients, double weight) {
    int count = gather(gradients, weight);
    world.allReduce(values, ReduceOp.SUM);
    int ranks = world.size();
    for (int i = 0; i < count; i++) {
      values[i] *= ranks;
    }
    return optimiser.step(scatter(gradients), values[count] / ranks);
  }

  @Override
  public void finalise() {
    optimiser.finalise();
  }

  @Override
  public void reset() {
    optimiser.reset();
  }

  /** Returns an optimiser of a copy of the wrapped one, for the same ranks. */
  @Override
  public AllReduceOptimiser copy() {
    return new AllReduceOptimiser(optimiser.copy(), world);
  }

  /** Returns the provenance of the wrapped optimiser, which tells how the weights came to be. */
  @Override
  public ConfiguredObjectProvenance getProvenance() {
    return optimiser.getProvenance();
  }

  @Override
  public String toString() {
    return "AllReduceOptimiser(ranks=" + world.size() + ",optimiser=" + optimiser + ")";
  }

  /**
   * Writes tensors one after the other, and then a number, into {@link #values}.
   *
   * @return the place of the number
   */
  private int gather(Tensor[] tensors, double last) {
    int count = 0;
    for (Tensor tensor : tensors) {
      count += Tensor.shapeSum(tensor.getShape());
    }
    // A new array is clear of what sparse tensors do not hold.
    values = new double[count + 1];
    values[count] = last;
    int from = 0;
    for (Tensor tensor : tensors) {
      if (tensor instanceof Matrix matrix) {
        int columns = matrix.getDimension2Size();
        for (MatrixTuple cell : matrix) {
          values[from + cell.i * columns + cell.j] = cell.value;
        }
      } else if (tensor instanceof SGDVector vector) {
        for (VectorTuple cell : vector) {
          values[from + cell.index] = cell.value;
        }
      } else {
        throw new IllegalArgumentException(
            "a tensor of class "
                + tensor.getClass().getName()
                + " cannot be summed: matrices and vectors of org.tribuo.math.la can");
      }
      from += Tensor.shapeSum(tensor.getShape());
    }
    return count;
  }

  /** Makes dense tensors, of the shapes of others, of {@link #values}. */
  private Tensor[] scatter(Tensor[] shapes) {
    Tensor[] dense = new Tensor[shapes.length];
    int from = 0;
    for (int t = 0; t < shapes.length; t++) {
      int[] shape = shapes[t].getShape();
      if (shape.length == 1) {
        double[] cells = new double[shape[0]];
        System.arraycopy(values, from, cells, 0, cells.length);
        dense[t] = DenseVector.createDenseVector(cells);
      } else {
        DenseMatrix matrix = new DenseMatrix(shape[0], shape[1]);
        for (int i = 0; i < shape[0]; i++) {
          for (int j = 0; j < shape[1]; j++) {
            matrix.set(i, j, values[from + i * shape[1] + j]);
          }
        }
        dense[t] = matrix;
      }
      from += Tensor.shapeSum(shape);
    }
    return dense;
  }
}
