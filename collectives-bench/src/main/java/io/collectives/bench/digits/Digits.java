package io.collectives.bench.digits;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;

/**
 * Images of handwritten digits (Alpaydin and Kaynak, UCI Machine Learning Repository, doi
 * 10.24432/C50P49). Every fifth is held out.
 *
 * @param images 64 pixels from 0 to 1 of each, one after the other
 * @param labels the digit of each
 */
record Digits(float[] images, int[] labels) {
  static final int SIDE = 8;
  static final int PIXELS = SIDE * SIDE;
  static final int CLASSES = 10;
  private static final int HELD_OUT = 5;

  /** The images to learn from, or those that are held out. */
  static Digits read(boolean isHeldOut) {
    try (InputStream resource =
            Objects.requireNonNull(Digits.class.getResourceAsStream("digits.csv.gz"));
        BufferedReader reader =
            new BufferedReader(
                new InputStreamReader(new GZIPInputStream(resource), StandardCharsets.US_ASCII))) {
      List<String> all = reader.lines().toList();
      List<String> lines =
          IntStream.range(0, all.size())
              .filter(i -> i % HELD_OUT == HELD_OUT - 1 == isHeldOut)
              .mapToObj(all::get)
              .toList();
      float[] images = new float[lines.size() * PIXELS];
      int[] labels = new int[lines.size()];
      for (int n = 0; n < labels.length; n++) {
        String[] cells = lines.get(n).split(",");
        for (int i = 0; i < PIXELS; i++) {
          images[n * PIXELS + i] = Integer.parseInt(cells[i]) / 16f;
        }
        labels[n] = Integer.parseInt(cells[PIXELS]);
      }
      return new Digits(images, labels);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  int count() {
    return labels.length;
  }
}
