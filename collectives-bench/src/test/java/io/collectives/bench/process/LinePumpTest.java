package io.collectives.bench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class LinePumpTest {

  private static String pumped(byte[] input) throws InterruptedException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    LinePump pump =
        LinePump.start("pump", new ByteArrayInputStream(input), "[3] ", new PrintStream(out, true));
    assertTrue(pump.await(Duration.ofSeconds(30)));
    return out.toString(StandardCharsets.ISO_8859_1);
  }

  @Test
  void everyLineHasThePrefix() throws InterruptedException {
    assertEquals("[3] a\n[3] \n[3] b\n", pumped("a\n\nb".getBytes(StandardCharsets.UTF_8)));
    assertEquals("", pumped(new byte[0]));
  }

  @Test
  void bytesPassUnchanged() throws InterruptedException {
    assertEquals(
        "[3] \u00ff\u0000\u00c3\r\n", pumped(new byte[] {(byte) 0xff, 0, (byte) 0xc3, '\r', '\n'}));
  }

  @Test
  void anEndlessLineIsBroken() throws InterruptedException {
    String out = pumped(new byte[3_000_000]);
    assertEquals(3_000_000, out.chars().filter(c -> c == 0).count());
    assertTrue(out.lines().count() >= 2);
  }

  @Test
  void aBrokenPipeEndsItsWriter() throws InterruptedException {
    PrintStream broken = new PrintStream(OutputStream.nullOutputStream());
    broken.close();
    InputStream endless =
        new InputStream() {
          @Override
          public int read() {
            return '\n';
          }
        };
    assertTrue(LinePump.start("pump", endless, "", broken).await(Duration.ofSeconds(30)));
  }
}
