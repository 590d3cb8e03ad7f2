package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Held.Kind;
import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every method of a memory, for all types, operations and kinds of memory, against the same thing
 * done element by element. Ranges begin somewhere inside of the memories, and what lies around them
 * must stay as it was.
 */
@Timeout(120)
class MemoryPropertiesTest {
  private final Scratch scratch = new Scratch();
  private final PairReduction pair = new PairReduction(scratch, kernels());

  /** Returns the kernels that reductions use where they can. */
  Kernels kernels() {
    return Kernels.NONE;
  }

  /**
   * Lengths of ranges. Blocks are reduced alike wherever they lie, and whatever the operation is:
   * in ranges of any length memories of one kind are summed, all others meet in a few short ones
   * and in one of several blocks.
   */
  private static int[] counts(ElementType type, ReduceOp.Standard op, Kind... kinds) {
    int block = ElementTypes.of(type).block;
    int more = block + 5;
    return op == ReduceOp.SUM && areTheSame(kinds)
        ? new int[] {0, 1, 2, 7, Elements.SHORT - 1, Elements.SHORT, block - 1, block, block + more}
        : new int[] {1, 7, Elements.SHORT, more};
  }

  /** The loop of an operation does not know where operands lie, so one has all kinds together. */
  private static boolean isTried(ReduceOp.Standard op, Kind... kinds) {
    return op == ReduceOp.SUM || areTheSame(kinds);
  }

  private static boolean areTheSame(Kind... kinds) {
    return Set.copyOf(List.of(kinds)).size() == 1;
  }

  @ParameterizedTest
  @EnumSource
  void reducesFromMemory(ElementType type) {
    for (ReduceOp.Standard op : ReduceOp.Standard.values()) {
      for (Kind kind : Kind.values()) {
        for (Kind ownKind : Kind.values()) {
          for (Kind sourceKind : Kind.values()) {
            if (!Held.isWorthwhile(kind, ownKind, sourceKind)
                || !isTried(op, kind, ownKind, sourceKind)) {
              continue;
            }
            for (int count : counts(type, op, kind, ownKind, sourceKind)) {
              reduceFromMemory(new Case(type, op, kind, ownKind, sourceKind, count));
            }
          }
        }
      }
    }
  }

  private void reduceFromMemory(Case test) {
    RandomGenerator random = new SplittableRandom(test.seed);
    int to = random.nextInt(4);
    int from = random.nextBoolean() ? to : random.nextInt(4);
    int size = to + test.count + random.nextInt(4);
    Number[] before = Held.random(test.type, size, random);
    Number[] own = Held.random(test.type, size, random);
    Number[] source = Held.random(test.type, from + test.count + random.nextInt(4), random);
    Held target = Held.of(test.kind, test.type, before, random);
    Held sourceHeld = Held.of(test.other, test.type, source, random);
    if (test.isInPlace()) {
      own = before;
      pair.by(test.op, 1, null)
          .run(target.memory(), to, test.count, target.memory(), to, sourceHeld.memory(), from);
    } else {
      Held ownHeld = Held.of(test.ownKind, test.type, own, random);
      pair.by(test.op, 1, null)
          .run(target.memory(), to, test.count, ownHeld.memory(), to, sourceHeld.memory(), from);
      test.check(own, ownHeld.elements());
    }
    Number[] expected = before.clone();
    for (int i = 0; i < test.count; i++) {
      expected[to + i] = Held.apply(test.op, own[to + i], source[from + i]);
    }
    test.check(expected, target.elements());
    test.check(source, sourceHeld.elements());
  }

  @ParameterizedTest
  @EnumSource
  void reducesFromFrame(ElementType type) {
    for (ReduceOp.Standard op : ReduceOp.Standard.values()) {
      for (Kind kind : Kind.values()) {
        for (Kind ownKind : Kind.values()) {
          if (!isTried(op, kind, ownKind)) {
            continue;
          }
          for (int count : counts(type, op, kind, ownKind)) {
            reduceFromFrame(new Case(type, op, kind, ownKind, Kind.BYTE_BUFFER, count));
          }
        }
      }
    }
  }

  private void reduceFromFrame(Case test) {
    RandomGenerator random = new SplittableRandom(test.seed);
    int to = random.nextInt(4);
    int from = random.nextInt(4);
    int size = to + test.count + random.nextInt(4);
    Number[] before = Held.random(test.type, size, random);
    Number[] own = Held.random(test.type, size, random);
    Number[] source = Held.random(test.type, from + test.count, random);
    Held target = Held.of(test.kind, test.type, before, random);
    FrameBytes frame = frame(test.type, source, random);
    int at = from * test.type.bytes();
    if (test.isInPlace()) {
      own = before;
      pair.by(test.op, 1, null)
          .run(target.memory(), to, test.count, target.memory(), to, frame, at);
    } else {
      Held ownHeld = Held.of(test.ownKind, test.type, own, random);
      pair.by(test.op, 1, null)
          .run(target.memory(), to, test.count, ownHeld.memory(), to, frame, at);
      test.check(own, ownHeld.elements());
    }
    Number[] expected = before.clone();
    for (int i = 0; i < test.count; i++) {
      expected[to + i] = Held.apply(test.op, own[to + i], source[from + i]);
    }
    test.check(expected, target.elements());
    test.check(source, elements(frame, test.type, source.length));
  }

  @ParameterizedTest
  @EnumSource
  void storesAndReplaces(ElementType type) {
    for (Kind kind : Kind.values()) {
      for (Kind sourceKind : Kind.values()) {
        for (int count : counts(type, ReduceOp.SUM, kind, sourceKind)) {
          storeAndReplace(new Case(type, ReduceOp.SUM, kind, kind, sourceKind, count));
        }
      }
    }
  }

  private void storeAndReplace(Case test) {
    RandomGenerator random = new SplittableRandom(test.seed);
    int count = test.count;
    int to = random.nextInt(4);
    int from = random.nextInt(4);
    Number[] before = Held.random(test.type, to + count + random.nextInt(4), random);
    Number[] source = Held.random(test.type, from + count + random.nextInt(4), random);
    Held sourceHeld = Held.of(test.other, test.type, source, random);
    Number[] expected = before.clone();
    System.arraycopy(source, from, expected, to, count);

    Held copied = Held.of(test.kind, test.type, before, random);
    copied.memory().replace(to, count, sourceHeld.memory(), from);
    test.check(expected, copied.elements());

    FrameBytes frame = frame(test.type, before, random);
    sourceHeld.memory().store(from, count, frame, to * test.type.bytes());
    test.check(expected, elements(frame, test.type, before.length));

    Held received = Held.of(test.kind, test.type, before, random);
    received.memory().replace(to, count, frame, to * test.type.bytes());
    test.check(expected, received.elements());
    test.check(source, sourceHeld.elements());
  }

  @ParameterizedTest
  @EnumSource
  void dividesSums(ElementType type) {
    int[] divisors = {3, 2, 64, 1000003, 1 << 30, Integer.MAX_VALUE};
    for (Kind kind : Kind.values()) {
      for (int count : counts(type, ReduceOp.SUM, kind)) {
        for (int divisor : kind == Kind.ARRAY ? divisors : Arrays.copyOf(divisors, 2)) {
          divideSum(new Case(type, ReduceOp.AVERAGE, kind, kind, kind, count), divisor);
        }
      }
    }
  }

  private void divideSum(Case test, int divisor) {
    RandomGenerator random = new SplittableRandom(test.seed);
    int at = random.nextInt(4);
    int count = test.count;
    Number[] before = Held.random(test.type, at + count + random.nextInt(4), random);
    Number[] source = Held.random(test.type, at + count, random);
    Number[] expected = before.clone();
    for (int i = at; i < at + count; i++) {
      expected[i] = Held.divided(Held.apply(test.op, before[i], source[i]), divisor);
    }
    pair.by(test.op, divisor, null);

    Held sum = Held.of(test.kind, test.type, before, random);
    Memory memory = Held.of(test.other, test.type, source, random).memory();
    pair.run(sum.memory(), at, count, sum.memory(), at, memory, at);
    test.check(expected, sum.elements());

    Held received = Held.of(test.kind, test.type, before, random);
    FrameBytes frame = frame(test.type, source, random);
    pair.run(received.memory(), at, count, received.memory(), at, frame, at * test.type.bytes());
    test.check(expected, received.elements());
  }

  private static FrameBytes frame(ElementType type, Number[] elements, RandomGenerator random) {
    int bytes = elements.length * type.bytes();
    ByteBuffer buffer =
        random.nextBoolean() ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
    buffer.order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < elements.length; i++) {
      Held.write(buffer, i * type.bytes(), elements[i]);
    }
    return new FrameBytes(buffer);
  }

  private static Number[] elements(FrameBytes frame, ElementType type, int count) {
    Number[] elements = new Number[count];
    for (int i = 0; i < count; i++) {
      elements[i] = Held.read(frame.bytes(), i * type.bytes(), type);
    }
    return elements;
  }

  /**
   * In place if {@code kind} and {@code ownKind} are the same. To repeat a failure, put its seed
   * here.
   */
  private record Case(
      ElementType type,
      ReduceOp.Standard op,
      Kind kind,
      Kind ownKind,
      Kind other,
      int count,
      long seed) {
    Case(ElementType type, ReduceOp.Standard op, Kind kind, Kind ownKind, Kind other, int count) {
      this(type, op, kind, ownKind, other, count, ThreadLocalRandom.current().nextLong());
    }

    boolean isInPlace() {
      return kind == ownKind && (seed & 1) == 0;
    }

    void check(Number[] expected, Number[] actual) {
      assertEquals(expected.length, actual.length, this::toString);
      for (int i = 0; i < expected.length; i++) {
        if (!expected[i].equals(actual[i])) {
          assertEquals(expected[i], actual[i], "element " + i + " of " + this);
        }
      }
    }
  }
}
