package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.internal.MemoryKernels.Ending;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The choice of kernels: where there are some, and where reductions go on without. */
class KernelsTest {
  private static final String[] VECTORS = {"--add-modules", "jdk.incubator.vector"};

  @TempDir Path directory;

  /** Returns kernels that are used at once, which this JVM must have been given. */
  static Kernels untried() {
    Kernels kernels = Kernels.untried();
    assumeTrue(isKnown(), "vectors of memory outside the heap");
    assertFalse(kernels.isEmpty(), Kernels::describe);
    return kernels;
  }

  private static boolean isKnown() {
    int feature = Runtime.version().feature();
    return feature < 19 || feature >= 22;
  }

  @Test
  void allKindsOfSumsHaveKernels() {
    Kernels kernels = untried();
    for (ElementType type :
        List.of(ElementType.FLOAT32, ElementType.FLOAT64, ElementType.INT32, ElementType.INT64)) {
      for (ReduceOp.Standard op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.PRODUCT)) {
        for (int divisor : new int[] {1, 4, 3}) {
          boolean is = Ending.of(divisor) != Ending.DIVISION || !type.isInteger();
          assertEquals(is, kernels.of(type, op, divisor, 2, 1, 0) != null, type + " " + op);
        }
      }
    }
    assertEquals(null, kernels.of(ElementType.BFLOAT16, ReduceOp.SUM, 1, 2, 1, 0));
  }

  @Test
  void bfloat16AndInt8ArePackedByVectors() {
    Kernels kernels = untried();
    for (WireType type : WireType.values()) {
      boolean is = type == WireType.BFLOAT16 || type == WireType.INT8;
      assertEquals(is, kernels.packing(type) != null, type.name());
    }
  }

  @Test
  void withoutTheModuleOfTheJdkReductionsCopy() throws Exception {
    assertEquals(
        "3.0 copies to arrays, as the JVM was started without --add-modules jdk.incubator.vector",
        output(Sum.class));
  }

  @Test
  void withoutC2ReductionsCopy() throws Exception {
    assumeTrue(isKnown());
    List<String> options = new ArrayList<>(List.of(VECTORS));
    options.add("-XX:TieredStopAtLevel=1");
    assertEquals(
        "3.0 copies to arrays, as the JVM runs without C2",
        output(Sum.class, options.toArray(String[]::new)));
  }

  /** With the API of JDK 17 those of sums seldom are. */
  @Test
  void kernelsAreUsedWhenTheyAreFast() throws Exception {
    assumeTrue(Runtime.version().feature() >= 22);
    assertEquals("fast", output(Fast.class, VECTORS));
  }

  @Test
  void kernelsAllocateNothing() throws Exception {
    assumeTrue(isKnown());
    assertEquals("nothing", output(Allocation.class, VECTORS));
  }

  @Test
  void aTruncatedFileIsAnErrorAndNotTheEnd() throws Exception {
    assumeTrue(isKnown());
    String said = output(Truncated.class, VECTORS);
    assertTrue(said.startsWith("java.lang.InternalError: a fault occurred"), said);
  }

  private String output(Class<?> program, String... options) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC"));
    command.addAll(List.of(options));
    command.add("-XX:ErrorFile=" + directory.resolve("error"));
    command.add("-cp");
    command.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    command.add(program.getName());
    command.add(directory.toString());
    Process process =
        new ProcessBuilder(command)
            .redirectError(directory.resolve("stderr").toFile())
            .directory(directory.toFile())
            .start();
    try {
      String said = new String(process.getInputStream().readAllBytes()).strip();
      process.waitFor();
      return said;
    } finally {
      process.destroyForcibly();
    }
  }

  private static ByteBuffer ones(int count) {
    ByteBuffer bytes =
        ByteBuffer.allocateDirect(count * Float.BYTES).order(ByteOrder.nativeOrder());
    for (int i = 0; i < count; i++) {
      bytes.putFloat(i * Float.BYTES, 1);
    }
    return bytes;
  }

  private static Memory memory(ByteBuffer bytes) {
    return Memories.of(Payload.of(bytes, ElementType.FLOAT32));
  }

  /** Prints a sum, and how it was taken. */
  static final class Sum {
    private Sum() {}

    public static void main(String[] args) {
      ByteBuffer one = ones(10_000);
      ByteBuffer two = ones(10_000);
      PairReduction pair = new PairReduction(new Scratch());
      pair.run(memory(one), 0, 10_000, memory(one), 0, memory(two), 0);
      pair.run(memory(one), 0, 10_000, memory(one), 0, memory(two), 0);

      System.out.println(one.getFloat(Float.BYTES * 9_999) + " " + Kernels.describe());
    }
  }

  /** Waits for the loops that pack numbers of 8 bits, and for the kernel that adds to an array. */
  static final class Fast {
    private Fast() {}

    public static void main(String[] args) {
      while (KernelTrial.PASSED.packing(WireType.INT8) == null) {
        Thread.onSpinWait();
      }
      while (KernelTrial.PASSED.of(ElementType.FLOAT32, ReduceOp.SUM, 1, 2, 1, 0b101) == null) {
        Thread.onSpinWait();
      }
      System.out.println("fast");
    }
  }

  /** Prints what reductions allocate when C2 has compiled them. */
  static final class Allocation {
    private Allocation() {}

    public static void main(String[] args) {
      Memory one = memory(ones(10_000));
      Memory two = memory(ones(10_000));
      PairReduction pair = new PairReduction(new Scratch(), Kernels.untried());
      var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
      long least = Long.MAX_VALUE;
      for (int i = 0; i < 500 && least > 256; i++) {
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int k = 0; k < 100; k++) {
          pair.run(one, 0, 10_000, one, 0, two, 0);
        }
        least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
      }
      System.out.println(least > 256 ? least + " bytes by 100 reductions" : "nothing");
    }
  }

  /** Sums the memory of a file that was truncated, by code of C2. */
  static final class Truncated {
    private Truncated() {}

    public static void main(String[] args) throws Exception {
      int count = 1 << 16;
      Path file = Path.of(args[0], "mapped");
      try (FileChannel channel =
          FileChannel.open(
              file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        ByteBuffer mapped =
            channel
                .map(FileChannel.MapMode.READ_WRITE, 0, (long) count * Float.BYTES)
                .order(ByteOrder.nativeOrder());
        Memory result = memory(ones(count));
        Memory source = memory(mapped);
        PairReduction pair = new PairReduction(new Scratch(), Kernels.untried());
        for (int i = 0; i < 20_000; i++) {
          pair.run(result, 0, 1024, result, 0, source, 0);
        }
        channel.truncate(8192);
        pair.run(result, 0, count, result, 0, source, 0);
        System.out.println("no error");
      } catch (InternalError e) {
        System.out.println(e);
      }
    }
  }
}
