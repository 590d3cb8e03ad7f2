package io.collectives.bench.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The lines that a worker reads from the process that started it. Standard input ends when that
 * process wants the worker to end, and also when it was killed: a worker that is not gone {@link
 * ProcessGroup#GRACE} later halts. So no worker outlives its parent, whatever happens to it.
 */
public final class ParentLines {
  private final BlockingQueue<Optional<String>> lines = new LinkedBlockingQueue<>();

  private ParentLines() {}

  /** Reads {@code input} in a daemon thread. */
  public static ParentLines read(InputStream input) {
    ParentLines parent = new ParentLines();
    Thread thread = new Thread(() -> parent.listen(input), "parent-lines");
    thread.setDaemon(true);
    thread.start();
    return parent;
  }

  /** Waits, without using the processor, for the next line; empty when there will be none. */
  public Optional<String> next() throws InterruptedException {
    return lines.take();
  }

  private void listen(InputStream input) {
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(input, StandardCharsets.UTF_8))) {
      for (String line; (line = reader.readLine()) != null; ) {
        lines.add(Optional.of(line));
      }
    } catch (IOException e) {
      // As if it had ended.
    }
    lines.add(Optional.empty());
    try {
      Thread.sleep(ProcessGroup.GRACE.toMillis());
    } catch (InterruptedException e) {
      // Halt at once.
    }
    Runtime.getRuntime().halt(1);
  }
}
