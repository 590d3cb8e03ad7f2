package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.UnixOperatingSystemMXBean;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.ReduceOp;
import io.collectives.Security;
import io.collectives.netty.WatchedTcp;
import io.collectives.testkit.FreePort;
import io.collectives.testkit.TcpProxy;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Jobs whose network is not friendly. Alone in its process while it runs, because it counts
 * descriptors.
 */
@Timeout(120)
@Tag("once")
@Tag("long")
final class HostileNetworkTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_121L);
  private static final int ATTACKS = 10_000;
  private static final int ATTACKERS = 8;
  private static final int FRAME_LENGTH = 4096;

  @TempDir private Path directory;
  private ExecutorService threads;
  private final List<TcpProxy> proxies = new ArrayList<>();

  @AfterEach
  void stop() throws IOException {
    WatchedTcp.tell(address -> address);
    threads.shutdownNow();
    for (TcpProxy proxy : proxies) {
      proxy.close();
    }
  }

  @Test
  void unauthenticatedPeersDisturbNoCall() throws Exception {
    Security security =
        Security.none().withSecret(JobSecret.of("not known to strangers")).withChecksums(true);
    int[] ports = {FreePort.find(), FreePort.find()};
    List<Communicator> worlds = join(2, security, ports);
    AtomicBoolean over = new AtomicBoolean();
    AtomicInteger calls = new AtomicInteger();
    List<Future<?>> summing = new ArrayList<>();
    for (Communicator world : worlds) {
      summing.add(
          threads.submit(
              () -> {
                // A rank that stops would leave the other one waiting, so that all stop together.
                float[] going = {1};
                while (going[0] == 1) {
                  float[] sum = new float[10_000];
                  Arrays.fill(sum, world.rank() + 1);
                  world.allReduce(sum, ReduceOp.SUM);
                  assertEquals(3, sum[0]);
                  assertEquals(3, sum[9_999]);
                  calls.incrementAndGet();
                  going[0] = over.get() ? 0 : 1;
                  world.allReduce(going, ReduceOp.MIN);
                }
                return null;
              }));
    }
    Awaitility.await().atMost(90, TimeUnit.SECONDS).until(() -> calls.get() > 100);
    long descriptors = descriptors();
    AtomicInteger next = new AtomicInteger();
    List<Future<?>> attacking = new ArrayList<>();
    for (int i = 0; i < ATTACKERS; i++) {
      attacking.add(
          threads.submit(
              () -> {
                for (int n = next.getAndIncrement(); n < ATTACKS; n = next.getAndIncrement()) {
                  attack(n, ports[n % 2], n % 2);
                }
                return null;
              }));
    }
    int mostUnadmitted = 0;
    long mostMemory = 0;
    while (!attacking.stream().allMatch(Future::isDone)) {
      for (int rank = 0; rank < 2; rank++) {
        mostUnadmitted = Math.max(mostUnadmitted, WatchedTcp.unadmitted(rank));
        mostMemory = Math.max(mostMemory, WatchedTcp.directMemoryLength(rank));
      }
      TimeUnit.MILLISECONDS.sleep(1);
    }
    for (Future<?> one : attacking) {
      one.get();
    }
    int before = calls.get();
    Awaitility.await().atMost(90, TimeUnit.SECONDS).until(() -> calls.get() > before + 100);
    Awaitility.await()
        .untilAsserted(
            () -> {
              assertEquals(0, WatchedTcp.unadmitted(0));
              assertEquals(0, WatchedTcp.unadmitted(1));
              long more = descriptors() - descriptors;
              assertTrue(more < 10, more + " more descriptors are open");
            });
    over.set(true);
    for (Future<?> one : summing) {
      one.get(30, TimeUnit.SECONDS);
    }
    worlds.forEach(Communicator::close);
    assertTrue(mostUnadmitted > 0, "nobody was seen");
    assertTrue(
        mostUnadmitted <= WatchedTcp.UNADMITTED_LIMIT,
        mostUnadmitted + " connections not admitted at once");
    assertTrue(mostMemory <= WatchedTcp.MEMORY_LIMIT, mostMemory + " bytes of direct memory");
  }

  /** Attacks in one of the ways. */
  private static void attack(int number, int port, int rank) throws IOException {
    Random random = new Random(SEED + number);
    byte[] noise = new byte[random.nextInt(3000)];
    random.nextBytes(noise);
    byte[] hello = WatchedTcp.hello(1 - rank, rank);
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(20_000);
      socket.setTcpNoDelay(true);
      OutputStream out = socket.getOutputStream();
      InputStream in = socket.getInputStream();
      try {
        switch (number / 2 % 9) {
          case 0 -> {
            return; // A scan of ports.
          }
          case 1 ->
              out.write(
                  ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n"
                          + "User-Agent: scan\r\n\r\n")
                      .getBytes(StandardCharsets.US_ASCII));
          case 2 -> {
            noise = Arrays.copyOf(noise, 512);
            System.arraycopy(
                new byte[] {22, 3, 1, 2, 0, 1, 0, 1, (byte) 252, 3, 3}, 0, noise, 0, 11);
            out.write(noise); // As a TLS client begins.
          }
          case 3 -> out.write(noise);
          case 4 -> {
            System.arraycopy("JCRV".getBytes(StandardCharsets.US_ASCII), 0, hello, 0, 4);
            Arrays.fill(hello, 4, 64, (byte) 0xff); // All lengths are as long as can be.
            out.write(hello);
          }
          case 5 -> {
            for (int i = 0; i < 40; i++) {
              out.write(hello[i]);
            }
          }
          case 6 -> {
            out.write(hello);
            in.readNBytes(64);
            out.write(hello); // Instead of a proof.
          }
          case 7 -> {
            out.write(hello);
            byte[] proof = in.readNBytes(64);
            System.arraycopy("JCPR".getBytes(StandardCharsets.US_ASCII), 0, proof, 0, 4);
            out.write(proof);
          }
          default -> {
            hello[random.nextInt(hello.length)] ^= (byte) (1 + random.nextInt(255));
            out.write(hello);
            out.write(noise);
          }
        }
        socket.shutdownOutput();
        int answered = in.readNBytes(1000).length;
        assertTrue(answered <= 64, answered + " bytes for a stranger");
      } catch (SocketTimeoutException e) {
        throw e;
      } catch (IOException e) {
        // Cut off while still talking.
      }
    }
  }

  @Test
  void aDamagedPayloadFailsTheCallOnEveryRank() throws Exception {
    for (boolean checksums : new boolean[] {true, false}) {
      AtomicInteger flips = new AtomicInteger();
      AtomicBoolean damaging = new AtomicBoolean();
      WatchedTcp.tell(
          address -> {
            TcpProxy proxy =
                new TcpProxy(
                    address,
                    (bytes, length, at) -> {
                      // Between two headers, in the middle of a long piece, a body is most likely.
                      if (length == 4096 && damaging.getAndSet(false)) {
                        bytes[2048] ^= 0x40;
                        flips.incrementAndGet();
                      }
                    });
            proxies.add(proxy);
            return proxy.address();
          });
      List<Communicator> worlds = join(3, Security.none().withChecksums(checksums), new int[3]);
      ConcurrentLinkedQueue<float[]> wrong = new ConcurrentLinkedQueue<>();
      List<Future<Throwable>> outcomes = new ArrayList<>();
      damaging.set(true);
      for (Communicator world : worlds) {
        outcomes.add(
            threads.submit(
                () -> {
                  try {
                    for (int i = 0; i < 20; i++) {
                      float[] sum = new float[300_000];
                      Arrays.fill(sum, world.rank());
                      world.allReduce(sum, ReduceOp.SUM);
                      for (float element : sum) {
                        if (element != 3) {
                          wrong.add(sum);
                          break;
                        }
                      }
                    }
                    return null;
                  } catch (CollectiveException e) {
                    return e;
                  }
                }));
      }
      int failed = 0;
      for (Future<Throwable> outcome : outcomes) {
        failed += outcome.get(60, TimeUnit.SECONDS) == null ? 0 : 1;
      }
      worlds.forEach(Communicator::close);
      assertEquals(1, flips.get());
      if (checksums) {
        assertEquals(3, failed, "every rank knows");
        assertTrue(wrong.isEmpty(), "no wrong sum was returned");
      } else {
        assertTrue(!wrong.isEmpty() || failed > 0, "so it was damage");
      }
    }
  }

  private List<Communicator> join(int ranks, Security security, int[] ports) throws Exception {
    ClassLoader loader = WatchedTcp.classLoader(directory);
    threads =
        Executors.newCachedThreadPool(
            task -> {
              Thread thread = new Thread(task, "hostile-network");
              thread.setDaemon(true);
              thread.setContextClassLoader(loader);
              return thread;
            });
    URI place = URI.create("tcp://localhost:" + FreePort.find());
    List<Future<Communicator>> joining = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      JobSettings settings =
          JobSettings.of(rank, ranks, place)
              .withTransport("watched-tcp")
              .withListen("localhost", ports[rank])
              .withSecurity(security)
              .withCalls(
                  CallSettings.defaults()
                      .withAlgorithm(Algorithm.ring())
                      .withFrameLength(FRAME_LENGTH));
      Callable<Communicator> joined = () -> Collectives.join(settings);
      joining.add(threads.submit(joined));
    }
    List<Communicator> worlds = new ArrayList<>();
    for (Future<Communicator> joined : joining) {
      worlds.add(joined.get(60, TimeUnit.SECONDS));
    }
    return worlds;
  }

  private static long descriptors() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
        ? unix.getOpenFileDescriptorCount()
        : 0;
  }
}
