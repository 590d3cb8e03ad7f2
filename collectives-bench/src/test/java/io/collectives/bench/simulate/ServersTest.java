package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.BufferReduction;
import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.bench.model.Model;
import io.collectives.bench.model.Tensor;
import io.collectives.plan.Chunks;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanVerifier;
import io.collectives.ps.ParameterServers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each parameter server has its load to carry. */
@Tag("once")
class ServersTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_122L);

  // ------------------------------------------------------------------ table III

  /**
   * Table III of Herring, from the gradients of its table II: what the server of the longest
   * variable carries each way, in MB of 1024 KB, and what each one carries of balanced buffers.
   */
  @ParameterizedTest
  @CsvSource({"8, 477", "16, 954", "32, 1908", "64, 3816"})
  void balancedServersCarryWhatTheHerringPaperSays(int workers, int atomic) {
    long all = LongStream.of(AtomicServersPlan.TABLE_II).sum();
    assertEquals(86_684, all, "KB");
    Plan whole = AtomicServersPlan.of(workers, workers, AtomicServersPlan.TABLE_II);
    Plan balanced = DedicatedServersPlan.of(workers, 1, workers);
    if (workers <= 16) {
      PlanVerifier.verify(whole, AtomicServersPlan.TABLE_II.length, SEED);
    }
    PlanVerifier.verify(balanced);
    for (boolean in : new boolean[] {true, false}) {
      double[] ofWhole = ofServers(whole, workers, all, in);
      double[] ofBalanced = ofServers(balanced, workers, all, in);
      double busiest = 0;
      for (int server = 0; server < workers; server++) {
        busiest = Math.max(busiest, ofWhole[server]);
        // 84.65, which the paper cuts to 84.6.
        assertEquals(84.6, ofBalanced[server] / 1024, 0.06);
        assertEquals(all, ofBalanced[server], 1e-6);
      }
      assertEquals(atomic, busiest / 1024, 1e-9);
      assertEquals((double) all * workers, Arrays.stream(ofWhole).sum(), 1e-3);
    }
  }

  /** KB that each server receives, or sends. */
  private static double[] ofServers(Plan plan, int workers, long all, boolean in) {
    double[] carried = new double[plan.ranks() - workers];
    for (int round = 0; round < plan.rounds(0); round++) {
      plan.transfers(
          0,
          round,
          (from, to, first, count, effect) -> {
            int server = in ? to : from;
            if (server >= workers) {
              carried[server - workers] += (double) all * count / plan.chunks();
            }
          });
    }
    return carried;
  }

  /** The simulator finds the same bytes at the busiest NIC, and the time that they take there. */
  @ParameterizedTest
  @ValueSource(ints = {8, 64})
  void theBusiestServerHoldsUpAll(int workers) {
    double bytes = 86_684.0 * 1024;
    double nanosPerByte = 0.08;
    Hosts hosts = new Hosts(1, nanosPerByte, 0, 1);
    Fabric fabric = new Fabric(new Wire(0, 0), List.of(), Optional.empty(), hosts);
    Outcome whole = run("atomic-servers:" + workers, workers, fabric, bytes);
    Outcome balanced = run("dedicated-servers:" + workers, workers, fabric, bytes);
    assertEquals(61_056.0 * 1024 * workers, whole.traffic().get(LinkClass.NIC).mostBytes(), 1);
    assertEquals(bytes, balanced.traffic().get(LinkClass.NIC).mostBytes(), 1);
    assertTrue(whole.nanos() >= 61_056.0 * 1024 * workers * nanosPerByte, "" + whole.nanos());
    assertTrue(balanced.nanos() <= 2.1 * bytes * nanosPerByte, "" + balanced.nanos());
  }

  private static Outcome run(String algorithm, int workers, Fabric fabric, double bytes) {
    Scenario scenario = Scenario.of(Scenario.Work.of(algorithm), Size.of(workers), fabric);
    assertEquals(algorithm, scenario.label());
    return scenario.run(scenario.costs(bytes, 1, 0));
  }

  /** A job is priced as the simulator's own plan of workers on hosts of their own. */
  @Test
  void theAlgorithmCostsWhatTheSimulatorsPlanDoes() {
    Fabric fabric = new Fabric(new Wire(10, 2), List.of(), Optional.empty(), Hosts.NONE);
    for (int workers = 1; workers <= 8; workers++) {
      for (int servers = 1; servers <= 8; servers++) {
        Scenario own =
            Scenario.of(
                Scenario.Work.of("parameter-server:0+" + servers),
                Size.of(workers + servers),
                fabric);
        Scenario simulated =
            Scenario.of(Scenario.Work.of("dedicated-servers:" + servers), Size.of(workers), fabric);
        Costs costs = new Costs(840_000, 1, 0.25);
        assertEquals(simulated.run(costs).nanos(), own.run(costs).nanos(), 1e-6);
        assertEquals(
            simulated.closedForm(costs).orElseThrow(), own.closedForm(costs).orElseThrow(), 1e-6);
        assertEquals(Algorithm.parameterServer(servers, servers), own.algorithm().orElseThrow());
      }
    }
  }

  // ------------------------------------------------------------------ equal shares

  /** Random models, numbers of servers and lengths of buffers. */
  @Test
  void sharesOfRandomModelsAreEqual() throws IOException {
    for (int i = 0; i < 30; i++) {
      Random random = new Random(SEED + i);
      List<Integer> counts = new ArrayList<>();
      for (int tensor = random.nextInt(40); tensor >= 0; tensor--) {
        counts.add(random.nextInt(random.nextInt(4) == 0 ? 100_000 : 300));
      }
      int servers = 1 + random.nextInt(40);
      int length = random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(50_000);
      check(counts, servers, length, "with -Dcollectives.seed=" + (SEED + i));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 64})
  void sharesOfBertLargeAreEqual(int servers) throws IOException {
    List<Integer> counts = Model.BERT_LARGE.tensors().stream().map(Tensor::count).toList();
    int buffers = check(counts, servers, 0, "BERT-large, " + servers + " servers");
    assertTrue(buffers >= 15 && buffers <= 16, buffers + " buffers");
  }

  /** Elements at servers differ by at most the number of buffers. Returns that. */
  private static int check(List<Integer> counts, int servers, int length, String what)
      throws IOException {
    List<Long> buffers = new ArrayList<>();
    try (Communicator world = Collectives.inProcess(1, CallSettings.defaults()).get(0);
        GradientReducer reducer =
            GradientReducer.of(
                world,
                FusionSettings.balancedBuffers().withBufferLength(length),
                new Recording(world, servers, buffers));
        FileChannel holes =
            FileChannel.open(
                Files.createTempFile("servers", ".tmp"),
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                StandardOpenOption.DELETE_ON_CLOSE)) {
      // Models of gigabytes, of which nobody reads a number.
      long bytes = 4 * counts.stream().mapToLong(count -> count).sum();
      ByteBuffer all = holes.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
      List<GradientReducer.Tensor> tensors = new ArrayList<>();
      int at = 0;
      for (int i = 0; i < counts.size(); i++) {
        int tensorBytes = 4 * counts.get(i);
        ByteBuffer tensor = all.slice(at, tensorBytes).order(ByteOrder.nativeOrder());
        tensors.add(reducer.register("t" + i, Payload.of(tensor, ElementType.FLOAT32)));
        at += tensorBytes;
      }
      tensors.forEach(reducer::ready);
      reducer.await();
    }
    long[] shares = new long[servers];
    long total = 0;
    for (int i = 0; i < buffers.size(); i++) {
      long count = buffers.get(i);
      assertTrue(i == buffers.size() - 1 || count == buffers.get(0), what + ": buffers " + buffers);
      assertTrue(count <= buffers.get(0), what + ": buffers " + buffers);
      total += count;
      for (int server = 0; server < servers; server++) {
        long share = Chunks.count(count, server, servers);
        assertTrue(share - count / servers >= 0 && share - count / servers <= 1, what);
        shares[server] += share;
      }
    }
    assertEquals(counts.stream().mapToLong(count -> count).sum(), total, what);
    long spread =
        LongStream.of(shares).max().orElseThrow() - LongStream.of(shares).min().orElseThrow();
    assertTrue(spread <= buffers.size(), what + ": shares differ by " + spread);
    return buffers.size();
  }

  /** Reduces nothing, and notes how many elements each buffer has. */
  private record Recording(Communicator world, int servers, List<Long> buffers)
      implements BufferReduction {
    @Override
    public int lanes() {
      return 1;
    }

    @Override
    public CollectiveHandle reduce(int lane, Payload buffer, ReduceOp op) {
      assertEquals(ElementType.FLOAT32, buffer.type());
      buffers.add(buffer.count());
      return world.async().barrier();
    }

    @Override
    public BufferLength balancedLength(long modelLength) {
      return ParameterServers.bufferLength(modelLength, servers);
    }

    @Override
    public void abort(String reason) {}

    @Override
    public void close() {}
  }
}
