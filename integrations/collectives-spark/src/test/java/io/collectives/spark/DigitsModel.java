package io.collectives.spark;

import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.zip.GZIPInputStream;

/**
 * A perceptron of 64, 64 and 10 units that learns handwritten digits by full batches of 1,024.
 *
 * <p>Gradients are sums over rows, so that the sums of all ranks are those of one process.
 */
final class DigitsModel {
  static final int BATCH = 1024;
  static final int STEPS = 50;
  private static final int PIXELS = 64;
  private static final int CLASSES = 10;
  private static final double RATE = 0.5;
  private static final String DIGITS = "/io/collectives/bench/digits/digits.csv.gz";

  private DigitsModel() {}

  /** Reads the rows, each of 64 pixels from 0 to 1 and the digit. */
  static List<double[]> rows() {
    try (InputStream file = Objects.requireNonNull(DigitsModel.class.getResourceAsStream(DIGITS));
        BufferedReader reader =
            new BufferedReader(
                new InputStreamReader(new GZIPInputStream(file), StandardCharsets.US_ASCII))) {
      return reader
          .lines()
          .limit(BATCH)
          .map(line -> Arrays.stream(line.split(",")).mapToDouble(Double::parseDouble).toArray())
          .peek(
              row -> {
                for (int i = 0; i < PIXELS; i++) {
                  row[i] /= 16;
                }
              })
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Makes the weights with which training begins, the same in every process. */
  static double[] weights(int hidden) {
    Random random = new Random(7);
    double[] weights = new double[hidden * (PIXELS + 1) + CLASSES * (hidden + 1)];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = random.nextGaussian() * 0.1;
    }
    return weights;
  }

  /**
   * Adds the gradients of one row to {@code sums}, and its loss to their last element, which
   * follows the gradients.
   */
  static void addGradients(double[] weights, int hidden, double[] row, double[] sums) {
    int second = hidden * (PIXELS + 1);
    double[] units = new double[hidden];
    for (int h = 0; h < hidden; h++) {
      double sum = weights[h * (PIXELS + 1) + PIXELS];
      for (int i = 0; i < PIXELS; i++) {
        sum += weights[h * (PIXELS + 1) + i] * row[i];
      }
      units[h] = Math.tanh(sum);
    }
    double[] classes = new double[CLASSES];
    double most = Double.NEGATIVE_INFINITY;
    for (int c = 0; c < CLASSES; c++) {
      int at = second + c * (hidden + 1);
      double sum = weights[at + hidden];
      for (int h = 0; h < hidden; h++) {
        sum += weights[at + h] * units[h];
      }
      classes[c] = sum;
      most = Math.max(most, sum);
    }
    double total = 0;
    for (int c = 0; c < CLASSES; c++) {
      classes[c] = Math.exp(classes[c] - most);
      total += classes[c];
    }
    int label = (int) row[PIXELS];
    sums[weights.length] -= Math.log(classes[label] / total);
    double[] errors = new double[hidden];
    for (int c = 0; c < CLASSES; c++) {
      double error = classes[c] / total - (c == label ? 1 : 0);
      int at = second + c * (hidden + 1);
      for (int h = 0; h < hidden; h++) {
        sums[at + h] += error * units[h];
        errors[h] += error * weights[at + h];
      }
      sums[at + hidden] += error;
    }
    for (int h = 0; h < hidden; h++) {
      double error = errors[h] * (1 - units[h] * units[h]);
      for (int i = 0; i < PIXELS; i++) {
        sums[h * (PIXELS + 1) + i] += error * row[i];
      }
      sums[h * (PIXELS + 1) + PIXELS] += error;
    }
  }

  /** Takes a step by the sums of a batch. */
  static void step(double[] weights, double[] sums) {
    for (int i = 0; i < weights.length; i++) {
      weights[i] -= RATE / BATCH * sums[i];
    }
  }

  /** Trains in one process on the whole batch, and returns the loss. */
  static double alone(List<double[]> rows, int hidden) {
    double[] weights = weights(hidden);
    double loss = 0;
    for (int step = 0; step < STEPS; step++) {
      double[] sums = new double[weights.length + 1];
      rows.forEach(row -> addGradients(weights, hidden, row, sums));
      step(weights, sums);
      loss = sums[weights.length] / BATCH;
    }
    return loss;
  }

  /** Trains on the rows of one rank, and returns the loss of all. */
  static double together(Communicator world, List<double[]> rows, int hidden) {
    double[] weights = weights(hidden);
    double loss = 0;
    for (int step = 0; step < STEPS; step++) {
      double[] sums = new double[weights.length + 1];
      rows.forEach(row -> addGradients(weights, hidden, row, sums));
      world.allReduce(sums, ReduceOp.SUM);
      step(weights, sums);
      loss = sums[weights.length] / BATCH;
    }
    return loss;
  }
}
