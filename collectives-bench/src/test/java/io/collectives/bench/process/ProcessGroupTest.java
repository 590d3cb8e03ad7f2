package io.collectives.bench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

@DisabledOnOs(OS.WINDOWS)
class ProcessGroupTest {

  private static ProcessBuilder shell(String script) {
    return new ProcessBuilder("sh", "-c", script);
  }

  @Test
  void endsAreReportedInTheirOrder() throws IOException, InterruptedException {
    try (ProcessGroup group = new ProcessGroup()) {
      Process waiting = group.start(0, shell("read line; exit 4"));
      group.start(1, shell("exit 3"));
      assertEquals(new ProcessGroup.Exit(1, 3), group.awaitExit());
      waiting.getOutputStream().close();
      assertEquals(new ProcessGroup.Exit(0, 4), group.awaitExit());
    }
  }

  @Test
  void aProcessThatIgnoresTheSignalIsKilled() throws IOException {
    Process stubborn;
    try (ProcessGroup group = new ProcessGroup(Duration.ofMillis(50))) {
      stubborn = group.start(0, shell("trap '' TERM; echo ready; while :; do sleep 1; done"));
      assertEquals('r', stubborn.getInputStream().read());
    }
    assertFalse(stubborn.isAlive());
  }

  @Test
  void nothingStartsAfterTheEnd() {
    ProcessGroup group = new ProcessGroup();
    group.close();
    group.close();
    assertThrows(IOException.class, () -> group.start(0, shell("exit 0")));
  }
}
