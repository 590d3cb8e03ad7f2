package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Held.Kind;
import io.collectives.spi.FrameBytes;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MemoryTest {
  private final Scratch scratch = new Scratch();
  private final PairReduction pair = new PairReduction(scratch);

  @Test
  void nanWinsAndZerosHaveSigns() {
    float nan = Float.NaN;
    float inf = Float.POSITIVE_INFINITY;
    float[] left = {nan, 1, -0f, 0f, -inf, inf, -0f};
    float[] right = {1, nan, 0f, -0f, nan, -inf, -0f};
    assertArrayEquals(
        new float[] {nan, nan, -0f, -0f, nan, -inf, -0f}, reduced(ReduceOp.MIN, left, right));
    assertArrayEquals(
        new float[] {nan, nan, 0f, 0f, nan, inf, -0f}, reduced(ReduceOp.MAX, left, right));
    assertArrayEquals(
        new float[] {nan, nan, 0f, 0f, nan, nan, -0f}, reduced(ReduceOp.SUM, left, right));
    assertArrayEquals(
        new float[] {nan, nan, -0f, -0f, nan, -inf, 0f}, reduced(ReduceOp.PRODUCT, left, right));
  }

  private float[] reduced(ReduceOp.Standard op, float[] left, float[] right) {
    float[] result = left.clone();
    Memory memory = Memories.of(Payload.of(result));
    pair.by(op, 1, null).run(memory, 0, left.length, memory, 0, Memories.of(Payload.of(right)), 0);
    return result;
  }

  @Test
  void integersWrapAround() {
    int[] ints = {Integer.MAX_VALUE, Integer.MIN_VALUE};
    Memory memory = Memories.of(Payload.of(ints));
    Memory other = Memories.of(Payload.of(new int[] {1, -1}));
    pair.by(ReduceOp.AVERAGE, 1, null).run(memory, 0, 2, memory, 0, other, 0);
    assertArrayEquals(new int[] {Integer.MIN_VALUE, Integer.MAX_VALUE}, ints);
  }

  @Test
  void averagesOfNegativeIntegersRoundTowardZero() {
    long[] longs = {-7, 7, -1, Long.MIN_VALUE};
    Memory memory = Memories.of(Payload.of(longs));
    Memory zeros = Memories.of(Payload.of(new long[4]));
    pair.by(ReduceOp.AVERAGE, 2, null).run(memory, 0, 4, memory, 0, zeros, 0);
    assertArrayEquals(new long[] {-3, 3, 0, Long.MIN_VALUE / 2}, longs);
  }

  @Test
  void countsBeyondTwoToThe31() {
    int size = 1 << 20;
    float[] array = new float[size];
    for (int i = 0; i < size; i++) {
      array[i] = i;
    }
    Memory huge = Memories.of(Payload.of(Collections.nCopies(2_100, Payload.of(array))));
    assertEquals(2_100L * size, huge.count());
    assertTrue(huge.count() > Integer.MAX_VALUE);

    float[] ones = new float[10];
    Arrays.fill(ones, 1);
    Memory small = Memories.of(Payload.of(ones));
    long edge = 2_050L * size;
    pair.run(small, 0, 10, small, 0, huge, edge - 4);
    assertArrayEquals(new float[] {size - 3, size - 2, size - 1, size, 1, 2, 3, 4, 5, 6}, ones);

    FrameBytes frame = new FrameBytes(ByteBuffer.allocate(40));
    huge.store(huge.count() - 10, 10, frame, 0);
    assertEquals(size - 10, frame.floats().get(0));
    huge.replace(2_070L * size + 17, 10, small, 0);
    assertArrayEquals(ones, Arrays.copyOfRange(array, 17, 27));
    assertThrows(IndexOutOfBoundsException.class, () -> huge.store(huge.count() - 9, 10, frame, 0));
  }

  @Test
  void partsThatAreAllEmpty() {
    Memory none = Memories.of(Payload.of(List.of(Payload.of(new int[0]), Payload.of(new int[0]))));
    assertEquals(0, none.count());
    none.checkWritable();
    pair.run(none, 0, 0, none, 0, none, 0);
    none.replace(0, 0, none, 0);
  }

  @Test
  void readOnlyBuffersAreInputsOnly() {
    ByteBuffer bytes = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).putFloat(0, 3f);
    ByteBuffer locked = bytes.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
    Payload asBytes = Payload.of(locked, ElementType.FLOAT32);
    Payload asView = Payload.of(locked.asFloatBuffer());
    for (Payload payload : List.of(asBytes, asView, Payload.of(List.of(asBytes, asView)))) {
      Memory memory = Memories.of(payload);
      float[] result = new float[1];
      Memories.of(Payload.of(result)).replace(0, 1, memory, 0);
      assertEquals(3f, result[0]);
      String message =
          assertThrows(IllegalArgumentException.class, memory::checkWritable).getMessage();
      assertTrue(message.contains("read-only"), message);
    }
    Memories.of(Payload.of(bytes, ElementType.FLOAT32)).checkWritable();
  }

  /** Short runs, and long ones, which are parts. */
  @Test
  void runsThatOverlapAreInputsOnly() {
    for (int run : new int[] {4, 2 * Elements.SHORT}) {
      float[] array = new float[3 * run];
      for (int i = 0; i < array.length; i++) {
        array[i] = i;
      }
      Payload payload = Payload.strided(Payload.of(array), 1, 3, run, run - 1);
      for (Payload read : List.of(payload, Payload.of(List.of(payload, Payload.of(array))))) {
        Memory memory = Memories.of(read);
        float[] result = new float[3 * run];
        Memories.of(Payload.of(result)).replace(0, 3 * run, memory, 0);
        assertEquals(1f, result[0]);
        assertEquals(run, result[run - 1]);
        assertEquals(run, result[run]);
        String message =
            assertThrows(IllegalArgumentException.class, memory::checkWritable).getMessage();
        assertTrue(message.contains("overlap"), message);
      }
      Memories.of(Payload.strided(Payload.of(array), 0, 2, run, run + 1)).checkWritable();
    }
  }

  @Test
  void bindsOneArrayAfterTheOther() {
    ArrayMemory memory = new ArrayMemory(ElementType.INT32);
    assertEquals(0, memory.count());
    Memory source = Memories.of(Payload.of(new int[] {4, 5}));
    int[] first = {1, 2, 3};
    memory.bind(first, 1, 2);
    memory.replace(0, 2, source, 0);
    assertArrayEquals(new int[] {1, 4, 5}, first);
    int[] second = {1, 2};
    memory.bind(second, 0, 2);
    memory.replace(1, 1, source, 0);
    assertArrayEquals(new int[] {1, 4}, second);
    memory.unbind();
    assertEquals(0, memory.count());
    assertThrows(IndexOutOfBoundsException.class, () -> memory.replace(0, 1, source, 0));
    assertThrows(IllegalArgumentException.class, () -> memory.bind(new float[1], 0, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> memory.bind(first, 2, 2));
  }

  @Test
  void refusesWhatDoesNotFit() {
    Memory ints = Memories.of(Payload.of(new int[4], 0, 3));
    Memory floats = Memories.of(Payload.of(new float[3]));
    FrameBytes frame = new FrameBytes(ByteBuffer.allocate(16));
    assertThrows(IllegalArgumentException.class, () -> ints.replace(0, 3, floats, 0));
    assertThrows(IllegalArgumentException.class, () -> pair.run(ints, 0, 3, floats, 0, frame, 0));
    assertThrows(IllegalArgumentException.class, () -> ints.store(0, 1, frame, 2));
    assertThrows(IndexOutOfBoundsException.class, () -> ints.store(0, 4, frame, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> ints.store(0, 3, frame, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> ints.replace(-1, 1, frame, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> ints.replace(1, 3, ints, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> pair.run(ints, 0, 4, ints, 0, frame, 0));
  }

  @Test
  void manyThreadsReadOneSource() throws Exception {
    int count = 10_007;
    Number[] values = Held.random(ElementType.FLOAT64, count, new Random(7));
    Memory source = Held.of(Kind.PARTS, ElementType.FLOAT64, values, new Random(7)).memory();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Callable<double[]>> readers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        readers.add(
            () -> {
              double[] sum = new double[count];
              Memory memory = Memories.of(Payload.of(sum));
              PairReduction own = new PairReduction(new Scratch()).by(ReduceOp.MAX, 1, null);
              for (int round = 0; round < 200; round++) {
                memory.replace(0, count, source, 0);
                own.run(memory, 0, count, memory, 0, source, 0);
              }
              return sum;
            });
      }
      double[] expected = Arrays.stream(values).mapToDouble(Number::doubleValue).toArray();
      for (Future<double[]> sum : threads.invokeAll(readers)) {
        assertArrayEquals(expected, sum.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** The least of several batches, because a thread is also charged for what the JVM does on it. */
  @Test
  void allocatesNothing() {
    ThreadMXBean thread = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Random random = new Random(1);
    for (ElementType type : ElementType.values()) {
      int count = 2 * ElementTypes.of(type).block + 3;
      Number[] values = Held.random(type, count, random);
      FrameBytes frame = new FrameBytes(ByteBuffer.allocateDirect(count * type.bytes()));
      List<Memory> memories = new ArrayList<>();
      for (Kind kind : Kind.values()) {
        memories.add(Held.of(kind, type, values, random).memory());
      }
      Object array = ElementTypes.of(type).newArray(count);
      ArrayMemory rebound = new ArrayMemory(type);
      useAll(memories, frame, count, rebound, array);
      long least = Long.MAX_VALUE;
      for (int batch = 0; batch < 10 && least > 0; batch++) {
        long before = thread.getCurrentThreadAllocatedBytes();
        for (int round = 0; round < 5; round++) {
          useAll(memories, frame, count, rebound, array);
        }
        least = Math.min(least, thread.getCurrentThreadAllocatedBytes() - before);
      }
      assertEquals(0, least, type::toString);
    }
  }

  private void useAll(
      List<Memory> memories, FrameBytes frame, int count, ArrayMemory rebound, Object array) {
    for (int i = 0; i < memories.size(); i++) {
      Memory memory = memories.get(i);
      for (int k = 0; k < memories.size(); k++) {
        Memory other = memories.get(k);
        pair.by(ReduceOp.SUM, 1, null).run(memory, 0, count, memory, 0, other, 0);
        pair.by(ReduceOp.MIN, 1, null).run(memory, 1, count - 1, other, 1, frame, 0);
        memory.replace(1, count - 1, other, 0);
      }
      memory.store(0, count, frame, 0);
      memory.replace(0, count, frame, 0);
      pair.by(ReduceOp.AVERAGE, 3, null).run(memory, 0, count, memory, 0, frame, 0);
      rebound.bind(array, 0, count);
      pair.by(ReduceOp.MAX, 1, null).run(rebound, 0, count, rebound, 0, memory, 0);
      rebound.unbind();
    }
  }
}
