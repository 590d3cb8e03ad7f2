package io.collectives.bench.model;

import java.util.List;

/**
 * The multiplications and additions of a model's forward pass, by trainable variable: two for each
 * element and each place of a sample that it is used at. A backward pass needs twice as many, for
 * the gradients of what came in and of the variable. Normalizations, activations and pooling count
 * as nothing.
 */
public final class ForwardWork {
  /** The share of the tokens of a sequence that BERT predicts (Devlin et al. 2019). */
  private static final double MASKED = 0.15;

  private static final int IMAGE = 224;

  private ForwardWork() {}

  /** Returns whether it is known of a model. */
  public static boolean isKnown(Model model) {
    return model != Model.TABLE2;
  }

  /**
   * Returns the operations for one sample, in the order of {@link Model#tensors}.
   *
   * @param sequence the tokens of a sample of BERT
   * @throws IllegalArgumentException if it is not known of the model
   */
  public static double[] of(Model model, int sequence) {
    List<Tensor> tensors = model.tensors();
    return switch (model) {
      case RESNET50 -> tensors.stream().mapToDouble(ForwardWork::resNet50).toArray();
      case BERT_LARGE ->
          tensors.stream().mapToDouble(tensor -> bertLarge(tensor, sequence)).toArray();
      case TABLE2 ->
          throw new IllegalArgumentException(
              model + ": its layers are not known; give the time of its backward pass");
    };
  }

  /** An image of 224 by 224 pixels; the convolution of 3 by 3 has the stride of a block. */
  private static double resNet50(Tensor tensor) {
    String name = tensor.name();
    if (tensor.shape().size() == 2) {
      return 2.0 * tensor.count();
    }
    if (tensor.shape().size() != 4) {
      return 0;
    }
    int side = IMAGE / 2;
    if (name.startsWith("layer")) {
      int stage = name.charAt(5) - '1';
      boolean before = stage > 0 && name.startsWith(".0.conv1", 6);
      side = (IMAGE / 4) >> (before ? stage - 1 : stage);
    }
    return 2.0 * tensor.count() * side * side;
  }

  /**
   * Products of queries and keys, and of what comes of them and values, count as work of the value
   * kernel; those of the tied embedding as work of the output's bias, where the backward pass
   * begins.
   */
  private static double bertLarge(Tensor tensor, int sequence) {
    String name = tensor.name();
    int hidden = 1024;
    double predicted = Math.ceil(MASKED * sequence);
    if (name.equals("cls/predictions/output_bias")) {
      return 2.0 * tensor.count() * hidden * predicted;
    }
    if (!name.endsWith("kernel") && !name.endsWith("output_weights")) {
      return 0;
    }
    double places = sequence;
    if (name.startsWith("cls/predictions")) {
      places = predicted;
    } else if (name.startsWith("bert/pooler") || name.startsWith("cls/seq")) {
      places = 1;
    }
    double attention =
        name.endsWith("value/kernel") ? 2.0 * 2 * sequence * (double) sequence * hidden : 0;
    return 2.0 * tensor.count() * places + attention;
  }
}
