package io.collectives.bench.process;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * Copies the lines of a stream to another, each with a prefix. Lines of several pumps never mix;
 * bytes pass unchanged, and a last line without an end gets one. A line of more than 1 MiB is
 * broken. When nobody reads {@code to} any more, {@code from} is closed, upon which its writer is
 * told as by any broken pipe.
 */
public final class LinePump {
  private static final int LONGEST = 1024 * 1024;

  private final InputStream from;
  private final byte[] prefix;
  private final PrintStream to;
  private final Thread thread;

  private LinePump(String name, InputStream from, String prefix, PrintStream to) {
    this.from = from;
    this.prefix = prefix.getBytes(StandardCharsets.UTF_8);
    this.to = to;
    this.thread = new Thread(this::pump, name);
    thread.setDaemon(true);
  }

  /** Starts a daemon thread that pumps until {@code from} ends. */
  public static LinePump start(String name, InputStream from, String prefix, PrintStream to) {
    LinePump pump = new LinePump(name, from, prefix, to);
    pump.thread.start();
    return pump;
  }

  /**
   * Waits until everything has been copied.
   *
   * @return false if {@code from} did not end in time, because another process still holds it
   */
  public boolean await(Duration limit) throws InterruptedException {
    thread.join(Math.max(1, limit.toMillis()));
    return !thread.isAlive();
  }

  private void pump() {
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    byte[] block = new byte[8192];
    try (from) {
      for (int length; (length = from.read(block)) >= 0; ) {
        int start = 0;
        for (int i = 0; i < length; i++) {
          if (block[i] == '\n') {
            line.write(block, start, i - start);
            start = i + 1;
            endLine(line, whole);
          }
        }
        line.write(block, start, length - start);
        if (line.size() > LONGEST) {
          endLine(line, whole);
        }
        flush(whole);
        if (to.checkError()) {
          return;
        }
      }
    } catch (IOException e) {
      // The process is gone; what it wrote last is below.
    }
    if (line.size() > 0) {
      endLine(line, whole);
    }
    flush(whole);
  }

  private void endLine(ByteArrayOutputStream line, ByteArrayOutputStream whole) {
    whole.writeBytes(prefix);
    whole.writeBytes(line.toByteArray());
    whole.write('\n');
    line.reset();
  }

  private void flush(ByteArrayOutputStream whole) {
    if (whole.size() > 0) {
      to.write(whole.toByteArray(), 0, whole.size());
      to.flush();
      whole.reset();
    }
  }
}
