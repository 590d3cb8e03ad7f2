package io.collectives.pytorch;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.zip.GZIPInputStream;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** A network of one hidden layer that reads handwritten digits of 8 x 8 pixels. */
final class DigitsNet extends Module {
  /** The normalisation between the layers. */
  enum Norm {
    NONE,
    LOCAL,
    SYNC
  }

  static final int EXAMPLES = 1024;
  private static final int PIXELS = 64;
  private static final int CLASSES = 10;

  private final LinearImpl hidden = new LinearImpl(PIXELS, 64);
  private final LinearImpl output = new LinearImpl(64, CLASSES);
  private final BatchNorm1dImpl norm = new BatchNorm1dImpl(new BatchNormOptions(64));
  private final Norm kind;
  private final SyncBatchNorm sync;

  DigitsNet(Norm kind, SyncBatchNorm sync) {
    this.kind = kind;
    this.sync = sync;
    register_module("hidden", hidden);
    if (kind != Norm.NONE) {
      register_module("norm", norm);
    }
    register_module("output", output);
  }

  Tensor loss(Examples examples) {
    Tensor x = hidden.forward(examples.images());
    if (kind != Norm.NONE) {
      x = kind == Norm.SYNC ? sync.forward(norm, x) : norm.forward(x);
    }
    return torch.cross_entropy_loss(output.forward(x.relu()), examples.labels());
  }

  /** The mean of the running means. */
  double runningMean() {
    return norm.running_mean().mean().item_double();
  }

  /** A part of the digits. */
  record Examples(Tensor images, Tensor labels) {
    /** Reads {@code count} digits, from {@code first} on each {@code stride}-th. */
    static Examples read(int first, int stride, int count) {
      List<String> lines = lines();
      float[] pixels = new float[count * PIXELS];
      long[] digits = new long[count];
      for (int i = 0; i < count; i++) {
        String[] cells = lines.get(first + i * stride).split(",");
        for (int j = 0; j < PIXELS; j++) {
          pixels[i * PIXELS + j] = Integer.parseInt(cells[j]) / 16f;
        }
        digits[i] = Integer.parseInt(cells[PIXELS]);
      }
      return new Examples(Tensor.create(pixels, count, PIXELS), Tensor.create(digits, count));
    }

    Examples slice(long start, long length) {
      return new Examples(images.narrow(0, start, length), labels.narrow(0, start, length));
    }

    Examples and(Examples more) {
      return new Examples(cat(images, more.images), cat(labels, more.labels));
    }

    private static Tensor cat(Tensor one, Tensor other) {
      return torch.cat(new TensorVector(one, other));
    }
  }

  /**
   * Digits of the UCI Machine Learning Repository (Alpaydin and Kaynak, doi 10.24432/C50P49, CC BY
   * 4.0), which come with the command line.
   */
  private static List<String> lines() {
    try (InputStream resource =
            Objects.requireNonNull(
                DigitsNet.class.getResourceAsStream("/io/collectives/bench/digits/digits.csv.gz"));
        BufferedReader reader =
            new BufferedReader(
                new InputStreamReader(new GZIPInputStream(resource), StandardCharsets.US_ASCII))) {
      return reader.lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
