package io.collectives.tribuo;

import io.collectives.Collectives;
import io.collectives.Communicator;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.zip.GZIPInputStream;
import org.tribuo.Example;
import org.tribuo.ImmutableDataset;
import org.tribuo.MutableDataset;
import org.tribuo.Trainer;
import org.tribuo.classification.Label;
import org.tribuo.classification.LabelFactory;
import org.tribuo.classification.sgd.fm.FMClassificationTrainer;
import org.tribuo.classification.sgd.linear.LinearSGDModel;
import org.tribuo.classification.sgd.linear.LinearSGDTrainer;
import org.tribuo.classification.sgd.objectives.LogMulticlass;
import org.tribuo.common.sgd.AbstractSGDTrainer;
import org.tribuo.impl.ArrayExample;
import org.tribuo.math.StochasticGradientOptimiser;
import org.tribuo.math.la.DenseMatrix;
import org.tribuo.math.optimisers.AdaGrad;
import org.tribuo.math.optimisers.ParameterAveraging;
import org.tribuo.math.optimisers.SGD;
import org.tribuo.provenance.SimpleDataSourceProvenance;

/**
 * Learns handwritten digits with Tribuo at every rank of a job, or alone, and prints the loss.
 *
 * <pre>
 * bin/collectives launch -n 4 -- java -cp … io.collectives.tribuo.TribuoDigits sgd sparse
 * </pre>
 */
public final class TribuoDigits {
  private static final int EXAMPLES = 1024;
  private static final int BATCH = 256;
  private static final int EPOCHS = 10;
  private static final String DIGITS = "/io/collectives/bench/digits/digits.csv.gz";

  private TribuoDigits() {}

  /**
   * Trains and prints {@code loss weights}: the loss over all examples, and the sum of the absolute
   * weights of a linear model.
   *
   * @param arguments the optimiser, sgd, adagrad or averaging; and the kind of examples, dense,
   *     sparse, or factors, which trains a factorization machine on sparse ones
   */
  public static void main(String[] arguments) throws IOException {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(train(world, arguments[0], arguments[1]));
    }
  }

  static String train(Communicator world, String optimiser, String kind) throws IOException {
    List<Example<Label>> all = examples(kind.equals("dense"));
    List<Example<Label>> own = new ArrayList<>();
    for (int i = world.rank(); i < all.size(); i += world.size()) {
      own.add(all.get(i));
    }
    LabelFactory labels = new LabelFactory();
    SimpleDataSourceProvenance source = new SimpleDataSourceProvenance("digits", labels);
    // Every rank needs the features and labels of all, not those that its own examples have.
    MutableDataset<Label> domain = new MutableDataset<>(all, source, labels);
    ImmutableDataset<Label> part =
        new ImmutableDataset<>(
            own, source, labels, domain.getFeatureIDMap(), domain.getOutputIDInfo(), false);
    AllReduceOptimiser summing = new AllReduceOptimiser(optimiser(optimiser), world);
    int batch = BATCH / world.size();
    if (kind.equals("factors")) {
      FMClassificationTrainer trainer =
          // Each rank would begin with other factors: those of rank 0 count. Tribuo 4.3.2 can train
          // these by single examples only.
          new FMClassificationTrainer(
              new LogMulticlass(), summing, 1, -1, 1, 17 + world.rank(), 4, 0.1);
      return loss(model(trainer, part).predict(all), all);
    }
    LinearSGDTrainer trainer =
        new LinearSGDTrainer(new LogMulticlass(), summing, EPOCHS, -1, batch, Trainer.DEFAULT_SEED);
    LinearSGDModel model = (LinearSGDModel) model(trainer, part);
    DenseMatrix weights = model.getWeightsCopy();
    double sum = 0;
    for (double[] row : weights.toArray()) {
      for (double cell : row) {
        sum += Math.abs(cell);
      }
    }
    return loss(model.predict(all), all) + " " + sum;
  }

  private static org.tribuo.Model<Label> model(
      AbstractSGDTrainer<Label, ?, ? extends org.tribuo.Model<Label>, ?> trainer,
      ImmutableDataset<Label> part) {
    // In another order the minibatches of the ranks would not be parts of those of one process.
    trainer.setShuffle(false);
    return trainer.train(part);
  }

  private static String loss(
      List<org.tribuo.Prediction<Label>> predictions, List<Example<Label>> all) {
    double loss = 0;
    for (int i = 0; i < all.size(); i++) {
      String label = all.get(i).getOutput().getLabel();
      loss -= Math.log(predictions.get(i).getOutputScores().get(label).getScore());
    }
    return String.format(Locale.ROOT, "%.15f", loss / all.size());
  }

  private static StochasticGradientOptimiser optimiser(String name) {
    return switch (name) {
      case "sgd" -> SGD.getSimpleSGD(1e-6, 0.9, SGD.Momentum.NESTEROV);
      case "adagrad" -> new AdaGrad(0.05);
      case "averaging" -> new ParameterAveraging(new AdaGrad(0.05));
      default -> throw new IllegalArgumentException("optimiser " + name + " is not known");
    };
  }

  private static List<Example<Label>> examples(boolean isDense) throws IOException {
    List<Example<Label>> examples = new ArrayList<>();
    try (InputStream file = Objects.requireNonNull(TribuoDigits.class.getResourceAsStream(DIGITS));
        BufferedReader reader =
            new BufferedReader(
                new InputStreamReader(new GZIPInputStream(file), StandardCharsets.US_ASCII))) {
      for (String line : reader.lines().limit(EXAMPLES).toList()) {
        String[] cells = line.split(",");
        ArrayExample<Label> example = new ArrayExample<>(new Label(cells[cells.length - 1]));
        for (int i = 0; i < cells.length - 1; i++) {
          double pixel = Integer.parseInt(cells[i]) / 16.0;
          if (isDense || pixel != 0) {
            example.add("pixel-" + (10 + i), pixel);
          }
        }
        examples.add(example);
      }
    }
    return examples;
  }
}
