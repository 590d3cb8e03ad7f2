package io.collectives.bench.model;

import java.util.ArrayList;
import java.util.List;

/** Models whose gradients training jobs sum, derived from their architectures. */
public enum Model {
  /** He et al. 2016: 161 tensors, 25,557,032 parameters, 102.2 MB of gradients in float32. */
  RESNET50("resnet50", "ResNet-50", resNet50()),
  /**
   * Devlin et al. 2019, with both heads of pre-training: 398 tensors, 336,226,108 parameters, 1.34
   * GB of gradients.
   */
  BERT_LARGE("bert-large", "BERT-large", bertLarge()),
  /**
   * A part of BERT-large: the gradients that appear in the last ten milliseconds of its backward
   * pass, by table II of Thangakrishnan et al. 2020 (<em>Herring</em>): 18 tensors, of which the
   * first has 70 % of the 44,382,208 elements; 177.5 MB in float32.
   */
  TABLE2("table2", "Table II of Herring", table2());

  private final String label;
  private final String title;
  private final List<Tensor> tensors;

  Model(String label, String title, List<Tensor> tensors) {
    this.label = label;
    this.title = title;
    this.tensors = tensors;
  }

  /** The name that people write, as {@code ResNet-50}. */
  public String title() {
    return title;
  }

  /** All trainable variables, in the order of the forward pass. */
  public List<Tensor> tensors() {
    return tensors;
  }

  /** The number of elements of all tensors. */
  public long parameters() {
    return tensors.stream().mapToLong(Tensor::count).sum();
  }

  /** The length of all gradients in float32. */
  public long bytes() {
    return parameters() * Float.BYTES;
  }

  /** The name on the command line, as {@code resnet50}. */
  @Override
  public String toString() {
    return label;
  }

  /**
   * Torchvision's names: a stem, four stages of bottleneck blocks, a classifier of 1,000 classes.
   */
  private static List<Tensor> resNet50() {
    List<Tensor> tensors = new ArrayList<>();
    convolution(tensors, "conv1", "bn1", 64, 3, 7);
    int[] blocks = {3, 4, 6, 3};
    int channels = 64;
    for (int stage = 0; stage < blocks.length; stage++) {
      int width = 64 << stage;
      for (int block = 0; block < blocks[stage]; block++) {
        String at = "layer" + (stage + 1) + "." + block + ".";
        convolution(tensors, at + "conv1", at + "bn1", width, channels, 1);
        convolution(tensors, at + "conv2", at + "bn2", width, width, 3);
        convolution(tensors, at + "conv3", at + "bn3", 4 * width, width, 1);
        if (block == 0) {
          convolution(tensors, at + "downsample.0", at + "downsample.1", 4 * width, channels, 1);
        }
        channels = 4 * width;
      }
    }
    tensors.add(Tensor.of("fc.weight", 1000, channels));
    tensors.add(Tensor.of("fc.bias", 1000));
    return List.copyOf(tensors);
  }

  private static void convolution(
      List<Tensor> to, String name, String norm, int out, int in, int kernel) {
    to.add(Tensor.of(name + ".weight", out, in, kernel, kernel));
    to.add(Tensor.of(norm + ".weight", out));
    to.add(Tensor.of(norm + ".bias", out));
  }

  /**
   * The names of the original TensorFlow code: embeddings, 24 layers of 16 variables, a pooler, the
   * two heads.
   */
  private static List<Tensor> bertLarge() {
    int vocabulary = 30_522;
    int hidden = 1024;
    int inner = 4 * hidden;
    List<Tensor> tensors = new ArrayList<>();
    tensors.add(Tensor.of("bert/embeddings/word_embeddings", vocabulary, hidden));
    tensors.add(Tensor.of("bert/embeddings/position_embeddings", 512, hidden));
    tensors.add(Tensor.of("bert/embeddings/token_type_embeddings", 2, hidden));
    layerNorm(tensors, "bert/embeddings/LayerNorm", hidden);
    for (int layer = 0; layer < 24; layer++) {
      String at = "bert/encoder/layer_" + layer + "/";
      dense(tensors, at + "attention/self/query", hidden, hidden);
      dense(tensors, at + "attention/self/key", hidden, hidden);
      dense(tensors, at + "attention/self/value", hidden, hidden);
      dense(tensors, at + "attention/output/dense", hidden, hidden);
      layerNorm(tensors, at + "attention/output/LayerNorm", hidden);
      dense(tensors, at + "intermediate/dense", hidden, inner);
      dense(tensors, at + "output/dense", inner, hidden);
      layerNorm(tensors, at + "output/LayerNorm", hidden);
    }
    dense(tensors, "bert/pooler/dense", hidden, hidden);
    dense(tensors, "cls/predictions/transform/dense", hidden, hidden);
    layerNorm(tensors, "cls/predictions/transform/LayerNorm", hidden);
    tensors.add(Tensor.of("cls/predictions/output_bias", vocabulary));
    tensors.add(Tensor.of("cls/seq_relationship/output_weights", 2, hidden));
    tensors.add(Tensor.of("cls/seq_relationship/output_bias", 2));
    return List.copyOf(tensors);
  }

  /**
   * The paper gives lengths in KiB of numbers of 16 bits, in the order of the backward pass, and no
   * names.
   */
  private static List<Tensor> table2() {
    int[] kib = {8192, 8, 8192, 2, 2, 2, 2048, 2, 2048, 2, 2048, 2, 2048, 2, 2, 4, 1024, 61056};
    List<Tensor> tensors = new ArrayList<>();
    for (int i = kib.length - 1; i >= 0; i--) {
      tensors.add(Tensor.of("variable " + (i + 1), kib[i] * 512));
    }
    return tensors;
  }

  private static void dense(List<Tensor> to, String name, int in, int out) {
    to.add(Tensor.of(name + "/kernel", in, out));
    to.add(Tensor.of(name + "/bias", out));
  }

  private static void layerNorm(List<Tensor> to, String name, int width) {
    to.add(Tensor.of(name + "/gamma", width));
    to.add(Tensor.of(name + "/beta", width));
  }
}
