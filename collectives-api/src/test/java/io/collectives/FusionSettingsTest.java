package io.collectives;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

class FusionSettingsTest {
  private static final String VARIABLE = "COLLECTIVES_BUFFER_LENGTH";

  @Test
  void theEnvironmentSaysHowLongBuffersAre() {
    FusionSettings settings = FusionSettings.balancedBuffers();
    assertTrue(settings.balanced());
    assertEquals(0, settings.bufferLength());
    assertSame(settings, settings.withEnvironment(Map.of()));
    assertSame(settings, settings.withEnvironment(Map.of(VARIABLE, " ")));
    assertEquals(4096, settings.withEnvironment(Map.of(VARIABLE, "4096")).bufferLength());
    for (String wrong : new String[] {"4 KiB", "-1", "99999999999"}) {
      assertEquals(
          VARIABLE + "=" + wrong + ": must be a number of bytes, from 1 to 2147483647",
          assertThrows(
                  IllegalArgumentException.class,
                  () -> settings.withEnvironment(Map.of(VARIABLE, wrong)))
              .getMessage());
    }
  }

  @Test
  void onlyBalancedBuffersMayBeAsLongAsIsBest() {
    assertFalse(FusionSettings.defaults().balanced());
    assertEquals(
        "fusion buffers of 0 bytes, the first of 1048576: both must be at least 1",
        assertThrows(
                IllegalArgumentException.class, () -> FusionSettings.defaults().withBufferLength(0))
            .getMessage());
  }
}
