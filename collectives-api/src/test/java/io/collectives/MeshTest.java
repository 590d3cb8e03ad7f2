package io.collectives;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MeshTest {

  @Test
  void whatIsWrittenIsRead() {
    for (Mesh mesh :
        List.of(
            Mesh.torus(4, 2),
            new Mesh(128, 32, false, true),
            new Mesh(3, 1, true, false),
            new Mesh(65_536, 32_767, false, false))) {
      assertEquals(mesh, Mesh.parse(mesh.toString()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "4", "4x", "4x2 wrap=xy", "4x2 wrap=", "-4x2", "4x2x2", "4 x 2"})
  void whatIsNoMeshIsRefused(String text) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> Mesh.parse(text)).getMessage();
    assertEquals(
        "'" + text + "' is no mesh; write 4x2, or 4x2 wrap=x, wrap=y or wrap=none", message);
  }

  @Test
  void whatHasNoPlaceOrTooManyIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> Mesh.parse("0x3"));
    String message =
        assertThrows(IllegalArgumentException.class, () -> Mesh.parse("65536x32768")).getMessage();
    assertTrue(message.contains("2^31 - 1"), message);
  }
}
