package io.collectives.bench.chaos;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.Security;
import io.collectives.bench.process.FreePort;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class IntruderTest {
  private static final byte[] HELLO = new byte[64];

  static {
    for (int i = 0; i < HELLO.length; i++) {
      HELLO[i] = (byte) (i + 1);
    }
  }

  /**
   * Returns what a listener, which answers with a byte more than a hello, hears from one intruder.
   */
  private static byte[] heard(Intruder kind, long seed) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Intruder.Victim victim = new Intruder.Victim(server.getLocalPort(), HELLO);
      CompletableFuture<byte[]> heard =
          CompletableFuture.supplyAsync(
              () -> {
                try (Socket socket = server.accept()) {
                  socket.getOutputStream().write(new byte[HELLO.length + 1]);
                  return socket.getInputStream().readAllBytes();
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              });
      try (Socket socket = Intruder.connect(victim)) {
        kind.talk(socket, victim, new SplittableRandom(seed));
      }
      return heard.get(20, TimeUnit.SECONDS);
    }
  }

  @Test
  void eachSaysItsOwn() throws Exception {
    assertEquals(0, heard(Intruder.SCAN, 1).length);
    assertTrue(
        new String(heard(Intruder.HTTP, 1), StandardCharsets.US_ASCII).startsWith("GET /metrics "));
    byte[] tls = heard(Intruder.TLS, 1);
    assertEquals(517, tls.length);
    assertArrayEquals(new byte[] {22, 3, 1, 2, 0, 1}, Arrays.copyOf(tls, 6));
    assertTrue(heard(Intruder.NOISE, 1).length > 0);
    byte[] twice = Arrays.copyOf(HELLO, 128);
    System.arraycopy(HELLO, 0, twice, 64, 64);
    assertArrayEquals(twice, heard(Intruder.REPLAY, 1));
    boolean meets = false;
    boolean connects = false;
    for (int seed = 0; seed < 20; seed++) {
      byte[] oversize = heard(Intruder.OVERSIZE, seed);
      meets |= new String(oversize, 0, 4, StandardCharsets.US_ASCII).equals("JCRV");
      connects |= Arrays.equals(oversize, 0, 4, HELLO, 0, 4);
      for (int i = 4; i < 64; i++) {
        assertEquals((byte) 0xff, oversize[i]);
      }
    }
    assertTrue(meets && connects);
  }

  @Test
  void allKindsComeToAllVictimsAndNobodyStays() throws Exception {
    int kinds = Intruder.values().length;
    List<Socket> open = new ArrayList<>();
    try (ServerSocket one = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
        ServerSocket other = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
        IntruderSource source = new IntruderSource(5)) {
      List<Intruder.Victim> victims =
          List.of(
              new Intruder.Victim(one.getLocalPort(), HELLO),
              new Intruder.Victim(other.getLocalPort(), HELLO));
      int[] looks = {0};
      source.make(2 * kinds, 1_000, victims, () -> looks[0]++);
      assertEquals(1, looks[0]);
      for (ServerSocket server : List.of(one, other)) {
        for (int i = 0; i < kinds; i++) {
          Socket socket = server.accept();
          open.add(socket);
          socket.shutdownOutput();
        }
      }
      source.settle();
      assertEquals(2 * kinds, source.connected());
      source.make(10, 1_000, List.of(), () -> {});
      assertEquals(2 * kinds, source.connected());
      int slow = 0;
      for (Socket socket : open) {
        socket.setSoTimeout(20_000);
        int length = socket.getInputStream().readAllBytes().length;
        slow += length == 1 ? 1 : 0;
      }
      assertEquals(2, slow, "those who had said one byte when they were hung up on");
    } finally {
      for (Socket socket : open) {
        socket.close();
      }
    }
  }

  /** An intruder that replays what was heard gets as far as the challenge. */
  @Test
  void theEavesdropperLearnsAHelloThatRanksAnswer() throws Exception {
    Security security = Security.none().withSecret(JobSecret.of("not known to strangers"));
    URI place = URI.create("tcp://127.0.0.1:" + FreePort.find());
    CompletableFuture<Communicator> joining =
        CompletableFuture.supplyAsync(
            () ->
                Collectives.join(
                    JobSettings.of(0, 2, place).withTransport("tcp").withSecurity(security)));
    List<Intruder.Victim> victims =
        new Eavesdropper(JobSettings.of(1, 2, place).withTransport("tcp").withSecurity(security))
            .listen();
    try (Communicator world = joining.get(30, TimeUnit.SECONDS)) {
      assertEquals(1, victims.size());
      byte[] hello = victims.get(0).hello();
      try (Socket socket = Intruder.connect(victims.get(0))) {
        socket.getOutputStream().write(hello);
        byte[] answer = socket.getInputStream().readNBytes(hello.length);
        assertEquals(64, answer.length);
        assertEquals("JCHI", new String(answer, 0, 4, StandardCharsets.US_ASCII));
        // The kind of a hello, not of a refusal, and no objection; see Handshake.
        assertArrayEquals(Arrays.copyOfRange(hello, 6, 8), Arrays.copyOfRange(answer, 6, 8));
      }
      assertEquals(2, world.size());
    }
  }
}
