package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.collectives.JobSecret;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.Security;
import io.collectives.internal.FrameCodec;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Everything that reads what an unauthenticated peer may have sent is given random and damaged
 * bytes: it must throw what it says it throws, nothing else, and allocate little. Another seed than
 * the usual one is given by the system property {@code collectives.seed}, more inputs by {@code
 * collectives.inputs}; failures name the seed and the input's number.
 */
@Timeout(60)
@Tag("once")
class DecoderFuzzTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_122L);
  private static final int INPUTS = Integer.getInteger("collectives.inputs", 2_000);

  /** An exception with its trace is most of it. */
  private static final long ALLOCATION_LIMIT = 64 * 1024;

  private static final JobEpoch EPOCH = new JobEpoch(0x1234567890abcdefL, 42);
  private static final Announcement CLIENT =
      new Announcement(
          "job", 1, 5, Rendezvous.PROTOCOL_VERSION, "tcp", "127.0.0.1:4711", "host/17");

  /** Reads one input; throws what is allowed. */
  private interface Decoder {
    void decode(byte[] bytes) throws Exception;
  }

  @Test
  void handshakes() {
    byte[] hello =
        Handshake.of(Handshake.Kind.HELLO, EPOCH, 4, 1, 2, new Handshake.Terms(true, true, true))
            .withNonce(new Handshake.Nonce(5, 6))
            .bytes()
            .array();
    fuzz(
        hello,
        60,
        bytes -> {
          Handshake handshake = Handshake.read(littleEndian(fit(bytes, Handshake.LENGTH)), 0);
          assertTrue(handshake.toString().length() < 300, "a short text");
          assertEquals(
              handshake.version() == 1 ? null : Handshake.Objection.VERSION,
              handshake.objectionTo(
                  new Handshake(
                      1,
                      handshake.kind(),
                      null,
                      handshake.epoch(),
                      new Handshake.Ends(handshake.size(), handshake.to(), handshake.from()),
                      handshake.terms(),
                      Handshake.Nonce.NONE)));
        },
        ProtocolException.class);
  }

  @Test
  void proofs() {
    Handshake hello =
        Handshake.of(Handshake.Kind.HELLO, EPOCH, 4, 1, 2, new Handshake.Terms(true, false, false));
    Proof proof = new Proof(JobSecret.of("what the ranks know"), "job", hello, hello);
    byte[] right = proof.bytes(Proof.Side.ACCEPTS);
    fuzz(
        right,
        -1,
        bytes -> {
          byte[] whole = fit(bytes, Proof.LENGTH);
          assertEquals(
              Arrays.equals(whole, 8, 40, right, 8, 40),
              proof.isRight(Proof.Side.ACCEPTS, littleEndian(whole), 0));
        },
        ProtocolException.class);
  }

  @Test
  void headers() {
    FrameCodec codec = new FrameCodec(EPOCH, 3, 4);
    byte[] right = new byte[FrameCodec.HEADER_LENGTH];
    FrameHeader header = new FrameHeader();
    header.length = 1000;
    codec.encode(header, 77, new FrameBytes(ByteBuffer.wrap(right)), 0);
    FrameHeader found = new FrameHeader();
    fuzz(
        right,
        124,
        bytes -> {
          byte[] whole = fit(bytes, FrameCodec.HEADER_LENGTH);
          codec.decode(new FrameBytes(ByteBuffer.wrap(whole)), 0, found);
          assertTrue(found.length >= 0 && FrameCodec.padded(found.length) >= found.length);
          assertTrue(found.toString().length() < 300, "a short text");
        },
        ProtocolException.class);
  }

  @Test
  void announcements() {
    byte[] right = RendezvousWire.announcement(CLIENT, 1000, new byte[RendezvousWire.NONCE_LENGTH]);
    fuzz(
        right,
        -1,
        bytes -> {
          ByteBuffer received =
              ByteBuffer.allocate(RendezvousWire.ANNOUNCEMENT_LIMIT + RendezvousWire.HMAC_LENGTH);
          received.put(bytes, 0, Math.min(bytes.length, received.capacity()));
          if (RendezvousWire.isComplete(received)) {
            Announcement found =
                RendezvousWire.readAnnouncement(received, Rendezvous.PROTOCOL_VERSION)
                    .announcement();
            assertTrue(found.address().length() <= RendezvousWire.ADDRESS_LIMIT);
            assertTrue(
                (found.job() + found.whereabouts()).chars().allMatch(c -> c >= ' ' && c < 127),
                "nothing that could forge a line of a log");
          }
        },
        ProtocolException.class);
  }

  @Test
  void answersOfHosts() {
    byte[] roster =
        RendezvousWire.roster(
            new Roster(EPOCH, List.of("a:1", "b:2", "c:3", "127.0.0.1:4711", "e:5")));
    byte[] refusal = RendezvousWire.refusal("no room for you");
    byte[] challenge = RendezvousWire.challenge(new byte[RendezvousWire.NONCE_LENGTH]);
    for (byte[] right : List.of(roster, refusal, challenge)) {
      fuzz(
          right,
          -1,
          bytes -> assertEquals(5, RendezvousWire.readAnswer(stream(bytes), 5).addresses().size()),
          ProtocolException.class,
          JoinException.class,
          IOException.class);
      fuzz(
          right,
          -1,
          bytes ->
              assertEquals(
                  RendezvousWire.NONCE_LENGTH, RendezvousWire.readChallenge(stream(bytes)).length),
          ProtocolException.class,
          JoinException.class,
          IOException.class);
    }
  }

  @Test
  void addresses() {
    fuzz(
        "[::1]:4711".getBytes(StandardCharsets.US_ASCII),
        -1,
        bytes -> {
          // Digits, dots, colons and brackets only, so that no name is looked up.
          StringBuilder text = new StringBuilder("[");
          for (byte b : fit(bytes, Math.min(bytes.length, 40))) {
            text.append("0123456789:.[]:".charAt((b & 0xff) % 15));
          }
          int port = HostPort.parse(text.append("]:4711").toString()).getPort();
          assertEquals(4711, port);
        },
        UnknownHostException.class);
  }

  /** The bytes of a peer are damaged: no damaged frame is ever complete. */
  @Test
  void streamsOfFrames() throws Exception {
    Random random = new Random(SEED);
    int lost = 0;
    for (int number = 0; number < 25; number++) {
      Security checked = Security.none().withChecksums(true);
      try (Ranks ranks =
              Ranks.open(
                  Ranks.settings(0).withSecurity(checked),
                  Ranks.settings(1).withSecurity(checked));
          Socket socket = ranks.connect(1)) {
        socket.getOutputStream().write(ranks.get(0).transport.hello(1).bytes().array());
        assertEquals(Handshake.LENGTH, ranks.read(socket, Handshake.LENGTH).length);
        byte[] stream = frames(ranks, 4);
        int changes = random.nextInt(4);
        for (int i = 0; i < changes; i++) {
          stream[random.nextInt(stream.length)] ^= (byte) (1 + random.nextInt(255));
        }
        int length = random.nextInt(3) == 0 ? random.nextInt(stream.length) : stream.length;
        socket.setTcpNoDelay(true);
        try {
          for (int at = 0; at < length; ) {
            int piece = Math.min(length - at, 1 + random.nextInt(2000));
            socket.getOutputStream().write(stream, at, piece);
            at += piece;
            ranks.pump();
          }
          socket.shutdownOutput();
        } catch (IOException e) {
          // The link was lost before all was said.
        }
        ranks.pumpUntil(() -> ranks.get(1).losses == 1);
        lost += ranks.get(1).cause instanceof ProtocolException ? 1 : 0;
        String what = "seed " + SEED + ", stream " + number + ": " + ranks.get(1).cause;
        assertTrue(
            ranks.get(1).cause instanceof ProtocolException
                || ranks.get(1).cause instanceof IOException,
            what);
        if (changes == 0) {
          assertInstanceOf(IOException.class, ranks.get(1).cause, what);
          assertEquals(length / (stream.length / 4), ranks.get(1).frames, what);
        }
      }
    }
    assertTrue(lost > 10, lost + " damaged streams were found, seed " + SEED);
  }

  private static byte[] frames(Ranks ranks, int count) {
    Ranks.Rank body = ranks.get(0);
    int length = FrameCodec.HEADER_LENGTH + body.length();
    FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(count * length));
    FrameCodec codec = new FrameCodec(body.transport.epoch(), 0, 1);
    for (int i = 0; i < count; i++) {
      int at = i * length;
      body.store(bytes, at + FrameCodec.HEADER_LENGTH);
      CRC32C crc = new CRC32C();
      FrameCodec.update(crc, bytes, at + FrameCodec.HEADER_LENGTH, body.length());
      codec.encode(body.header(), (int) crc.getValue(), bytes, at);
    }
    byte[] all = new byte[count * length];
    bytes.bytes().get(0, all);
    return all;
  }

  /**
   * Tries random and damaged inputs.
   *
   * @param checksumAt where the CRC32C of all bytes before it is, which is made right in every
   *     second damaged input; -1 if there is none
   */
  @SafeVarargs
  private static void fuzz(
      byte[] right, int checksumAt, Decoder decoder, Class<? extends Exception>... allowed) {
    ThreadMXBean memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Random random = new Random(SEED);
    int refused = 0;
    for (int number = 0; number < INPUTS; number++) {
      byte[] input = number == 0 ? right.clone() : input(right, checksumAt, random);
      String what = "seed " + SEED + ", input " + number + ": " + Arrays.toString(input);
      long before = memory.getCurrentThreadAllocatedBytes();
      boolean isAccepted = isAccepted(decoder, input, what, allowed);
      long allocated = memory.getCurrentThreadAllocatedBytes() - before;
      if (allocated >= ALLOCATION_LIMIT) {
        // By the input, or by the JVM, which loads a class when it is first needed: the former does
        // so again.
        before = memory.getCurrentThreadAllocatedBytes();
        isAccepted(decoder, input, what, allowed);
        allocated = memory.getCurrentThreadAllocatedBytes() - before;
      }
      assertTrue(allocated < ALLOCATION_LIMIT, allocated + " bytes were allocated for " + what);
      refused += isAccepted ? 0 : 1;
    }
    assertTrue(refused > 0, "none refused");
  }

  @SafeVarargs
  private static boolean isAccepted(
      Decoder decoder, byte[] input, String what, Class<? extends Exception>... allowed) {
    try {
      decoder.decode(input);
      return true;
    } catch (Exception e) {
      if (Arrays.stream(allowed).noneMatch(one -> one.isInstance(e))) {
        throw new AssertionError(what, e);
      }
      return false;
    } catch (AssertionError e) {
      throw new AssertionError(what, e);
    }
  }

  private static byte[] input(byte[] right, int checksumAt, Random random) {
    if (random.nextInt(4) == 0) {
      byte[] noise = new byte[random.nextInt(600)];
      random.nextBytes(noise);
      int kept = Math.min(random.nextInt(8), Math.min(noise.length, right.length));
      System.arraycopy(right, 0, noise, 0, kept); // Perhaps the magic, so that it is read on.
      return noise;
    }
    byte[] damaged =
        Arrays.copyOf(
            right, right.length - (random.nextInt(4) == 0 ? random.nextInt(right.length) : 0));
    for (int i = random.nextInt(4); i >= 0 && damaged.length > 0; i--) {
      int at = random.nextInt(damaged.length);
      damaged[at] =
          switch (random.nextInt(4)) {
            case 0 -> 0;
            case 1 -> (byte) 0xff;
            case 2 -> 0x7f;
            default -> (byte) random.nextInt();
          };
    }
    if (checksumAt >= 0 && damaged.length >= checksumAt + 4 && random.nextBoolean()) {
      CRC32C crc = new CRC32C();
      crc.update(damaged, 0, checksumAt);
      littleEndian(damaged).putInt(checksumAt, (int) crc.getValue());
    }
    return damaged;
  }

  private static byte[] fit(byte[] bytes, int length) {
    return Arrays.copyOf(bytes, length);
  }

  private static ByteBuffer littleEndian(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static DataInputStream stream(byte[] bytes) {
    return new DataInputStream(new ByteArrayInputStream(bytes));
  }
}
