package io.collectives.bench.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ModelTest {

  @Test
  void resNet50HasItsPublishedSize() {
    assertEquals(161, Model.RESNET50.tensors().size());
    assertEquals(25_557_032, Model.RESNET50.parameters());
    assertEquals(102_228_128, Model.RESNET50.bytes());
    assertEquals(Tensor.of("conv1.weight", 64, 3, 7, 7), Model.RESNET50.tensors().get(0));
    assertEquals(Tensor.of("fc.weight", 1000, 2048), Model.RESNET50.tensors().get(159));
  }

  @Test
  void bertLargeHasItsPublishedSize() {
    assertEquals(398, Model.BERT_LARGE.tensors().size());
    assertEquals(336_226_108, Model.BERT_LARGE.parameters());
    assertEquals(
        16 * 24,
        Model.BERT_LARGE.tensors().stream()
            .filter(t -> t.name().startsWith("bert/encoder/layer_"))
            .count());
  }

  @Test
  void tableIIHasThePapersSize() {
    assertEquals(18, Model.TABLE2.tensors().size());
    assertEquals(86_684 * 512, Model.TABLE2.parameters());
    assertEquals(61_056 * 512, Model.TABLE2.tensors().get(0).count());
  }

  @Test
  void wholeTensorsGoToTheServerThatHasLeast() {
    assertArrayEquals(new int[] {1, 0, 1, 1}, WholeTensors.deal(new int[] {3, 9, 5, 1}, 2));
  }

  @Test
  void namesAreDistinct() {
    for (Model model : Model.values()) {
      List<String> names = model.tensors().stream().map(Tensor::name).toList();
      Set<String> distinct = new HashSet<>(names);
      assertEquals(names.size(), distinct.size(), model.title());
    }
  }
}
