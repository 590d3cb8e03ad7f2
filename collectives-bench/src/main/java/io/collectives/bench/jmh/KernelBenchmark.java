package io.collectives.bench.jmh;

import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.engine.memory.OrderedReduction;
import io.collectives.engine.memory.OrderedReduction.Manner;
import io.collectives.engine.memory.PairReduction;
import io.collectives.engine.memory.Scratch;
import io.collectives.internal.ElementBuffer;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Returns what one rank pays to add, store and replace a piece of a payload. Scores are nanoseconds
 * for a piece; divided by {@code elements} they are nanoseconds an element, the figure to compare:
 * vectorised kernels stay below 0.1 for float32 within one address space and below 0.2 where frames
 * are involved, scalar ones are at 0.3 to 0.5.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 300, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 300, timeUnit = TimeUnit.MILLISECONDS)
@Fork(2)
public class KernelBenchmark {

  /** The memories in which the operands of a reduction lie. */
  public enum Operands {
    /** {@code a += b}, arrays with the same indexes: the case of a call within one process. */
    ARRAYS(Place.ARRAY, Place.ARRAY),
    /** {@code a += b}, arrays with different indexes. */
    SHIFTED_ARRAYS(Place.ARRAY, Place.SHIFTED_ARRAY),
    /** {@code a += frame}: what arrives over a link. */
    ARRAY_AND_FRAME(Place.ARRAY, Place.FRAME),
    /** {@code direct += frame}. */
    DIRECT_AND_FRAME(Place.DIRECT, Place.FRAME),
    /** {@code direct += b}. */
    DIRECT_AND_ARRAY(Place.DIRECT, Place.ARRAY);

    private final Place target;
    private final Place source;

    Operands(Place target, Place source) {
      this.target = target;
      this.source = source;
    }
  }

  /** The memories in which a piece lies. */
  public enum Place {
    /** An array, from index 0. */
    ARRAY,
    /** An array, from another index. */
    SHIFTED_ARRAY,
    /** A direct buffer. */
    DIRECT,
    /** A frame, which is no memory of a call. */
    FRAME
  }

  /** The operands of a reduction. */
  @State(Scope.Thread)
  public static class Reduction {
    @Param ElementType type = ElementType.FLOAT32;

    @Param({"SUM", "MIN", "AVERAGE"})
    ReduceOp.Standard op = ReduceOp.SUM;

    @Param Operands kind = Operands.ARRAYS;

    @Param({"2048", "32768"})
    int elements;

    /** Out of place: the result goes to another memory, at the same positions. */
    @Param({"true", "false"})
    boolean inPlace;

    private final PairReduction pair = new PairReduction(new Scratch());
    private Memory result = Memories.of(Payload.of(new float[0]));
    private Memory own = result;
    private Memory source = result;
    private FrameBytes frame = new FrameBytes(ByteBuffer.allocate(0));

    /**
     * Makes the operands; thousands of short calls first, as programs do, must not spoil the
     * kernels.
     */
    @Setup
    public void prepare() {
      own = memory(kind.target, type, elements);
      result = inPlace ? own : memory(kind.target, type, elements);
      boolean framed = kind.source == Place.FRAME;
      source = memory(framed ? Place.ARRAY : kind.source, type, elements);
      frame = frame(type, elements);
      for (int i = 0; i < 100_000; i++) {
        reduce(i % 2 + 1);
      }
    }

    void reduce(int count) {
      int divisor = op == ReduceOp.AVERAGE ? 3 : 1;
      if (kind.source == Place.FRAME) {
        pair.by(op, divisor, null).run(result, 0, count, own, 0, frame, 0);
      } else {
        pair.by(op, divisor, null).run(result, 0, count, own, 0, source, 0);
      }
    }
  }

  /** The contributions of several ranks, and how their sum is taken. */
  @State(Scope.Thread)
  public static class Contributions {
    @Param({"FLOAT32", "FLOAT64", "BFLOAT16", "FLOAT16"})
    ElementType type = ElementType.FLOAT32;

    @Param Manner manner = Manner.SEQUENTIAL;

    @Param({"SUM", "AVERAGE"})
    ReduceOp.Standard op = ReduceOp.SUM;

    @Param({"2", "3", "4", "8"})
    int ranks;

    /** Of arrays with the same indexes, which one pass reads where they lie. */
    @Param({"ARRAY", "DIRECT"})
    Place place = Place.ARRAY;

    @Param({"32768"})
    int elements;

    private final OrderedReduction ordered = new OrderedReduction(new Scratch());
    private final List<Memory> inputs = new ArrayList<>();
    private final List<Memory> outputs = new ArrayList<>();

    /** Fills them with ordinary numbers, of which next to no exact sum is in doubt. */
    @Setup
    public void prepare() {
      Random random = new Random(1);
      for (int rank = 0; rank < ranks; rank++) {
        Payload input = payload(place, type, elements);
        ElementBuffer values = new ElementBuffer(input);
        for (int i = 0; i < elements; i++) {
          values.setValue(i, random.nextGaussian());
        }
        inputs.add(Memories.of(input));
        outputs.add(memory(place, type, elements));
      }
    }

    void sum() {
      ordered.add(inputs.get(0), 0);
      for (int rank = 1; rank < ranks; rank++) {
        ordered.add(inputs.get(rank), 0, outputs.get(rank), 0);
      }
      int divisor = op == ReduceOp.AVERAGE ? ranks : 1;
      ordered.run(op, manner, outputs.get(0), 0, elements, divisor, null);
    }
  }

  /** A memory and a frame of its length. */
  @State(Scope.Thread)
  public static class Move {
    @Param ElementType type = ElementType.FLOAT32;

    @Param({"ARRAY", "DIRECT"})
    Place place = Place.ARRAY;

    @Param({"2048", "32768"})
    int elements;

    private final Scratch scratch = new Scratch();
    private final PairReduction pair = new PairReduction(scratch);
    private Memory memory = Memories.of(Payload.of(new float[0]));
    private FrameBytes frame = new FrameBytes(ByteBuffer.allocate(0));

    /** Makes both. */
    @Setup
    public void prepare() {
      memory = memory(place, type, elements);
      frame = frame(type, elements);
    }
  }

  /** A float32 memory and a frame of narrow numbers. */
  @State(Scope.Thread)
  public static class Narrow {
    @Param({"BFLOAT16", "FLOAT16", "INT8"})
    WireType wire = WireType.BFLOAT16;

    @Param({"ARRAY", "DIRECT"})
    Place place = Place.ARRAY;

    @Param({"2048", "32768"})
    int elements;

    private final Scratch scratch = new Scratch();
    private final PairReduction pair = new PairReduction(scratch);
    private Memory memory = Memories.of(Payload.of(new float[0]));
    private FrameBytes frame = new FrameBytes(ByteBuffer.allocate(0));
    private float[] from = new float[0];
    private float[] to = from;
    private @Nullable NarrowWire narrow;

    /** Makes both, and two arrays to copy, which is what conversions are measured by. */
    @Setup
    public void prepare() {
      memory = memory(place, ElementType.FLOAT32, elements);
      frame = frame(ElementType.FLOAT32, elements);
      narrow = NarrowWire.of(wire);
      from = new float[elements];
      to = new float[elements];
      Random random = new Random(1);
      for (int i = 0; i < elements; i++) {
        from[i] = (float) random.nextGaussian();
      }
      memory.replace(0, elements, Memories.of(Payload.of(from)), 0);
    }
  }

  /** Memory to frame, rounded. */
  @Benchmark
  public void encode(Narrow state) {
    NarrowWire narrow = Objects.requireNonNull(state.narrow);
    narrow.store(state.memory, 0, state.elements, state.frame, 0, null, state.scratch);
  }

  /** Frame to memory. */
  @Benchmark
  public void decode(Narrow state) {
    NarrowWire narrow = Objects.requireNonNull(state.narrow);
    narrow.replace(state.memory, 0, state.elements, state.frame, 0, state.scratch);
  }

  /** Frame to memory, added. */
  @Benchmark
  public void decodeAndAdd(Narrow state) {
    NarrowWire narrow = Objects.requireNonNull(state.narrow);
    state
        .pair
        .by(ReduceOp.SUM, 1, narrow)
        .run(state.memory, 0, state.elements, state.memory, 0, state.frame, 0);
  }

  /** Array to array: what {@link #encode} and {@link #decode} are compared with. */
  @Benchmark
  public float[] copy(Narrow state) {
    System.arraycopy(state.from, 0, state.to, 0, state.elements);
    return state.to;
  }

  /** {@code result = own op source}. */
  @Benchmark
  public void reduce(Reduction reduction) {
    reduction.reduce(reduction.elements);
  }

  /**
   * The sum of all contributions, put into the memory of every rank, as between threads of one JVM.
   */
  @Benchmark
  public void sumOfAll(Contributions contributions) {
    contributions.sum();
  }

  /** Memory to frame. */
  @Benchmark
  public void store(Move move) {
    move.memory.store(0, move.elements, move.frame, 0);
  }

  /** Frame to memory. */
  @Benchmark
  public void replace(Move move) {
    move.memory.replace(0, move.elements, move.frame, 0);
  }

  private static Memory memory(Place place, ElementType type, int elements) {
    return Memories.of(payload(place, type, elements));
  }

  private static Payload payload(Place place, ElementType type, int elements) {
    if (place == Place.DIRECT) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(elements * type.bytes());
      return Payload.of(buffer.order(ByteOrder.nativeOrder()), type);
    }
    int offset = place == Place.SHIFTED_ARRAY ? 7 : 0;
    return new Payload.OfArray(type, type.newArray(offset + elements), offset, elements);
  }

  private static FrameBytes frame(ElementType type, int elements) {
    return new FrameBytes(ByteBuffer.allocateDirect(elements * type.bytes()));
  }
}
