package io.collectives.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.process.JavaCommand;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes that begin at once unpack the natives once. */
@Tag("long")
class NativesTest {
  @Test
  @Timeout(300)
  void processesMayUnpackIntoOneCacheAtOnce(@TempDir Path cache) throws Exception {
    List<Process> processes = new ArrayList<>();
    // Without this JVM's options: with C1 alone the processes seldom unpack at the same time.
    List<String> command =
        List.of(
            JavaCommand.executable(),
            "-Dorg.bytedeco.javacpp.cachedir=" + cache,
            "-XX:-CreateCoredumpOnCrash",
            "-XX:ErrorFile=" + cache.resolve("error-%p.log"),
            "-cp",
            System.getProperty("java.class.path"),
            Natives.class.getName());
    for (int i = 0; i < 4; i++) {
      processes.add(new ProcessBuilder(command).inheritIO().start());
    }
    try {
      for (Process process : processes) {
        assertTrue(process.waitFor(240, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue());
      }
    } finally {
      processes.forEach(Process::destroyForcibly);
    }
  }
}
