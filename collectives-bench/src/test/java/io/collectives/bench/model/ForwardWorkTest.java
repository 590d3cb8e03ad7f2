package io.collectives.bench.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class ForwardWorkTest {

  /** Torchvision says 4.09 billion products for an image of 224 by 224 pixels. */
  @Test
  void resNet50TakesWhatIsKnownOfIt() {
    double operations = Arrays.stream(ForwardWork.of(Model.RESNET50, 1)).sum();
    assertEquals(4.09e9, operations / 2, 0.01e9);
  }

  /**
   * Encoders have 12 h² products a token and layer, and 2 s h for the attention, with h = 1,024; a
   * pooler has h², and each predicted token h² and h for each of 30,522 words.
   */
  @Test
  void bertLargeTakesWhatItsSizesSay() {
    for (int s : new int[] {128, 512}) {
      double h = 1024;
      double predicted = Math.ceil(0.15 * s);
      double products =
          24 * s * (12 * h * h + 2 * s * h) + h * h + 2 * h + predicted * (h * h + 30_522 * h);
      double operations = Arrays.stream(ForwardWork.of(Model.BERT_LARGE, s)).sum();
      assertEquals(2 * products, operations, 1);
    }
  }

  @Test
  void theLayersOfTable2AreNotKnown() {
    assertFalse(ForwardWork.isKnown(Model.TABLE2));
    assertThrows(IllegalArgumentException.class, () -> ForwardWork.of(Model.TABLE2, 128));
  }
}
