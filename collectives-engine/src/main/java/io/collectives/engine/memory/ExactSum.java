package io.collectives.engine.memory;

import io.collectives.ElementType;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Sums or averages of the elements of several blocks, each rounded once: the number of the type
 * that is nearest to the true one, in whatever order the blocks come. Used so: {@link #begin} with
 * the first block, {@link #add} the others, {@link #finish}; then, while there are elements
 * {@linkplain #doubtful in doubt}, {@link #look} at all blocks again and {@link #settle}. Belongs
 * to one thread at a time.
 *
 * <h2>The fast way</h2>
 *
 * For each element three numbers are kept. TwoSum (Knuth) gives the rounded sum of two numbers and
 * what rounding took from it, which is a number of the type, by six additions; it is applied twice
 * (Ogita, Rump and Oishi's cascaded summation goes on with the first of both):
 *
 * <pre>
 *   s, e = TwoSum(s, x)    the sum as everybody takes it, and what rounding took
 *   c, f = TwoSum(c, e)    what rounding took in all, nearly, and what rounding took from that
 *   a = fl(a + |f|)        how far s + c may be from the true sum
 * </pre>
 *
 * The true sum is s + c + f1 + f2 + …, without any error. Almost always all f are 0; then a is 0,
 * and fl(s + c) is the true sum rounded once, also right between two numbers, where the sum of few
 * numbers often is. Else, with u half the distance from 1 to the next number, the f add up to less
 * than 2 a, even if a was rounded. With b = 2 a + 4 u |c| the true sum lies between s + (c - b) and
 * s + (c + b), even after both parentheses are rounded, which takes less than 2 u |c|; rounding is
 * monotonic; so if both round to the same number, that is the sum rounded once. If not the element
 * is in doubt.
 *
 * <p>Nothing underflows in it: a sum of two numbers that is so small that its rounding would matter
 * there is not rounded at all. Where something overflows or is not finite, the difference of the
 * two bounds is NaN, and the element is in doubt. All are plain loops over arrays with equal
 * indexes and no branches (see {@link Elements}): what is to count only if a is not 0 is the
 * minimum of it and a multiple of a so large that it is never less. Whether any element of a block
 * is in doubt is asked by {@link Arrays#mismatch}, which is vectorised, too.
 *
 * <p>An average is taken from the same three numbers, so that no rounded sum is divided:
 *
 * <pre>
 *   q = fl(s / n)    and what that leaves of s, r = s - n q, which is a number of the type
 *   t, g = TwoSum(r, c)
 *   e = fl(t / n)    and what that leaves of t, h = t - n e
 * </pre>
 *
 * The true average is q + e + (h + g + f1 + f2 + …) / n. If h, g and a are 0, fl(q + e) is it,
 * rounded once, and right between two numbers, too; else q + (e - b) and q + (e + b) bound it,
 * where b is 3 a / n + 4 u |e| and a few times the least number above zero. The products n q and n
 * e are taken by halves (Dekker), so r and h are without error for any n of at most half the bits.
 *
 * <p>Numbers of 16 bits are widened and summed as float32. The bounds are rounded to 16 bits, which
 * would be twice, if rounding to float32 could bring one to the other side of the true sum. So they
 * are moved apart by much more than that rounding, but only if c or a is not 0: most sums of 16-bit
 * numbers are exact in float32, many of them right between two neighbours.
 *
 * <h2>The slow way</h2>
 *
 * Elements in doubt are summed by a {@link Superaccumulator}. That sees each contribution again, so
 * nothing may have been written over them. NaN, infinities and overflows end there.
 *
 * <p>One class because the bounds of the fast way, which all types share, and the loops that keep
 * them, which differ by type only, prove each other right.
 */
abstract sealed class ExactSum permits ExactSum.OfFloats, ExactSum.OfDoubles, ExactSum.OfShorts {
  /** The most elements of a block; narrow wires have the longest. */
  static final int BLOCK = NarrowWire.MOST;

  /** The number of elements that are settled in one look at all blocks. */
  private static final int BATCH = 64;

  /** By type. */
  private static final List<Scratch.Key<ExactSum>> KEYS =
      Stream.of(ElementType.values()).map(type -> new Scratch.Key<>(() -> of(type))).toList();

  private final int precision;
  private final int least;
  private final int mostDivisor;
  private final int[] doubtful = new int[BLOCK];
  private final Superaccumulator accumulator = new Superaccumulator();

  /** By element of a batch and contribution. */
  private double[] seen = new double[BATCH];

  private int doubts;
  private int looks;
  private int divisor = 1;

  /**
   * @param least the exponent of the least number above zero
   * @param mostDivisor what the fast way divides by, at most
   */
  private ExactSum(int precision, int least, int mostDivisor) {
    this.precision = precision;
    this.least = least;
    this.mostDivisor = mostDivisor;
  }

  /** Returns the exact sum of a scratch for a floating-point type. */
  static ExactSum of(ElementType type, Scratch scratch) {
    return scratch.get(KEYS.get(type.ordinal()));
  }

  /** For a floating-point type. */
  static ExactSum of(ElementType type) {
    return switch (type) {
      case FLOAT32 -> new OfFloats();
      case FLOAT64 -> new OfDoubles();
      case BFLOAT16 -> new OfShorts(Format16.BFLOAT16, 8, -133);
      case FLOAT16 -> new OfShorts(Format16.FLOAT16, 11, -24);
      default -> throw new IllegalArgumentException("no exact sums of " + type);
    };
  }

  /**
   * The first contribution to the first {@code count} elements; another one follows, or the end.
   */
  abstract void begin(Object block, int count, Scratch scratch);

  /** Another contribution. */
  abstract void add(Object block, int count, Scratch scratch);

  /** There is only one contribution. */
  abstract void end(int count);

  /**
   * Writes the sums, divided by {@code divisor}, that are certain.
   *
   * @param n how many contributions there were
   * @param divisor 1 for the sums themselves
   */
  final void finish(Object result, int count, int n, int divisor, Scratch scratch) {
    doubts = 0;
    looks = 0;
    this.divisor = divisor;
    if (divisor <= mostDivisor) {
      bound(result, count, divisor, scratch);
    } else {
      while (doubts < count) {
        doubt(doubts);
      }
    }
    if (seen.length < BATCH * n) {
      seen = new double[BATCH * n];
    }
  }

  /** Writes what is certain, and tells {@link #doubt} all that is not. */
  abstract void bound(Object result, int count, int divisor, Scratch scratch);

  final void doubt(int element) {
    doubtful[doubts++] = element;
  }

  /** Returns the number of elements that are in doubt. */
  final int doubtful() {
    return doubts;
  }

  /** Sees the next contribution to the elements that are to be settled. */
  final void look(Object block) {
    int batch = Math.min(BATCH, doubts);
    for (int i = 0; i < batch; i++) {
      seen[looks * BATCH + i] = value(block, doubtful[doubts - 1 - i]);
    }
    looks++;
  }

  /** Writes the sums of those elements, when all contributions have been seen. */
  final void settle(Object result) {
    int batch = Math.min(BATCH, doubts);
    for (int i = 0; i < batch; i++) {
      double sum = accumulator.sum(seen, i, BATCH, looks, divisor, precision, least);
      set(result, doubtful[doubts - 1 - i], sum);
    }
    doubts -= batch;
    looks = 0;
  }

  abstract double value(Object block, int element);

  abstract void set(Object result, int element, double value);

  /** Sums of {@code float}s. */
  static final class OfFloats extends ExactSum {
    private final FloatSums sums = new FloatSums();

    OfFloats() {
      super(24, -149, FloatSums.MOST_DIVISOR);
    }

    @Override
    void begin(Object block, int count, Scratch scratch) {
      sums.begin((float[]) block, count);
    }

    @Override
    void add(Object block, int count, Scratch scratch) {
      sums.add((float[]) block, count);
    }

    @Override
    void end(int count) {
      sums.end(count);
    }

    @Override
    void bound(Object result, int count, int divisor, Scratch scratch) {
      float[] lower = (float[]) result;
      if (sums.bound(lower, count, divisor)) {
        return;
      }
      for (int i = 0; i < count; i++) {
        if (!(sums.gap[i] == 0)) {
          doubt(i);
        }
      }
    }

    @Override
    double value(Object block, int element) {
      return ((float[]) block)[element];
    }

    @Override
    void set(Object result, int element, double value) {
      ((float[]) result)[element] = (float) value;
    }
  }

  /** The numbers of the fast way in {@code float}. */
  private static final class FloatSums {
    private static final float U = 0x1p-24f;

    /** Far more than the distance of a float from the next, as a part of it. */
    private static final float APART = 0x1p-20f;

    /** Products with it are exact, taken by halves. */
    static final int MOST_DIVISOR = 1 << 12;

    private static final float SPLIT = (1 << 12) + 1;

    /** Twice times the least number above zero, this is more than any bound. */
    private static final float HUGE = 0x1p127f;

    final float[] s = new float[BLOCK];
    final float[] c = new float[BLOCK];
    private final float[] a = new float[BLOCK];

    /** The upper bounds less the lower ones, or themselves: 0 where nothing is in doubt. */
    final float[] gap = new float[BLOCK];

    private final float[] zeros = new float[BLOCK];

    /** If true, there has been one contribution only. */
    private boolean isFirst;

    void begin(float[] x, int count) {
      System.arraycopy(x, 0, s, 0, count);
      isFirst = true;
      if (count < Elements.SHORT) {
        Arrays.fill(c, 0, count, 0);
        Arrays.fill(a, 0, count, 0);
      }
    }

    /** Clears the rests, because a single contribution has lost nothing. */
    void end(int count) {
      Arrays.fill(c, 0, count, 0);
      Arrays.fill(a, 0, count, 0);
    }

    void add(float[] x, int count) {
      if (count < Elements.SHORT) {
        for (int i = 0; i < count; i++) {
          float sum = s[i] + x[i];
          float added = sum - s[i];
          float lost = (s[i] - (sum - added)) + (x[i] - added);
          float losses = c[i] + lost;
          float more = losses - c[i];
          a[i] = a[i] + Math.abs((c[i] - (losses - more)) + (lost - more));
          s[i] = sum;
          c[i] = losses;
        }
      } else if (isFirst) {
        addFirst(s, c, a, x, count);
      } else {
        add(s, c, a, x, count);
      }
      isFirst = false;
    }

    /** floato the first contribution, of which nothing has been lost. */
    private static void addFirst(float[] s, float[] c, float[] a, float[] x, int count) {
      for (int i = 0; i < count; i++) {
        float sum = s[i] + x[i];
        float added = sum - s[i];
        c[i] = (s[i] - (sum - added)) + (x[i] - added);
        a[i] = 0;
        s[i] = sum;
      }
    }

    private static void add(float[] s, float[] c, float[] a, float[] x, int count) {
      for (int i = 0; i < count; i++) {
        float sum = s[i] + x[i];
        float added = sum - s[i];
        float lost = (s[i] - (sum - added)) + (x[i] - added);
        float losses = c[i] + lost;
        float more = losses - c[i];
        a[i] = a[i] + Math.abs((c[i] - (losses - more)) + (lost - more));
        s[i] = sum;
        c[i] = losses;
      }
    }

    /** Writes the lower bounds, and the gaps. Returns whether no element is in doubt. */
    boolean bound(float[] lower, int count, int divisor) {
      if (divisor > 1) {
        average(lower, gap, s, c, a, count, divisor);
      } else if (count < Elements.SHORT) {
        for (int i = 0; i < count; i++) {
          float b = 2 * a[i] + Math.min(a[i] * HUGE * HUGE, Math.abs(c[i]) * (4 * U));
          // By subtraction, so that -0 stays what it is.
          float least = s[i] - (b - c[i]);
          gap[i] = s[i] + (c[i] + b) - least;
          lower[i] = least;
        }
      } else {
        bound(lower, gap, s, c, a, count);
      }
      return Arrays.mismatch(gap, 0, count, zeros, 0, count) < 0;
    }

    private static void bound(
        float[] lower, float[] gap, float[] s, float[] c, float[] a, int count) {
      for (int i = 0; i < count; i++) {
        float b = 2 * a[i] + Math.min(a[i] * HUGE * HUGE, Math.abs(c[i]) * (4 * U));
        // By subtraction, so that -0 stays what it is.
        float least = s[i] - (b - c[i]);
        gap[i] = s[i] + (c[i] + b) - least;
        lower[i] = least;
      }
    }

    private static void average(
        float[] lower, float[] gap, float[] s, float[] c, float[] a, int count, float n) {
      float each = 3 / n;
      for (int i = 0; i < count; i++) {
        float q = s[i] / n;
        float w = q * SPLIT;
        float half = w - (w - q);
        float r = (s[i] - half * n) - (q - half) * n;
        float t = r + c[i];
        float added = t - r;
        float lost = (r - (t - added)) + (c[i] - added);
        float e = t / n;
        w = e * SPLIT;
        half = w - (w - e);
        float rest = Math.abs((t - half * n) - (e - half) * n) + Math.abs(lost) + a[i];
        float b =
            each * a[i] + Math.min(rest * HUGE * HUGE, Math.abs(e) * (4 * U) + 4 * Float.MIN_VALUE);
        // By subtraction, so that -0 stays what it is.
        float least = q - (b - e);
        gap[i] = q + (e + b) - least;
        lower[i] = least;
      }
    }

    /**
     * Bounds the sums apart: the bounds are so far apart that they may be rounded again; s and c
     * become these.
     */
    boolean boundApart(int count, int divisor) {
      if (divisor > 1) {
        averageApart(s, c, a, gap, count, divisor);
      } else if (count < Elements.SHORT) {
        for (int i = 0; i < count; i++) {
          float rest = Math.abs(c[i]) + a[i];
          float b = 2 * a[i] + Math.min(rest * HUGE * HUGE, (Math.abs(s[i]) + rest) * APART);
          float least = s[i] - (b - c[i]);
          float most = s[i] + (c[i] + b);
          s[i] = least;
          c[i] = most;
          gap[i] = most - most;
        }
      } else {
        boundApart(s, c, a, gap, count);
      }
      return Arrays.mismatch(gap, 0, count, zeros, 0, count) < 0;
    }

    private static void boundApart(float[] s, float[] c, float[] a, float[] gap, int count) {
      for (int i = 0; i < count; i++) {
        float rest = Math.abs(c[i]) + a[i];
        float b = 2 * a[i] + Math.min(rest * HUGE * HUGE, (Math.abs(s[i]) + rest) * APART);
        float least = s[i] - (b - c[i]);
        float most = s[i] + (c[i] + b);
        s[i] = least;
        c[i] = most;
        gap[i] = most - most;
      }
    }

    private static void averageApart(
        float[] s, float[] c, float[] a, float[] gap, int count, float n) {
      for (int i = 0; i < count; i++) {
        float q = s[i] / n;
        float w = q * SPLIT;
        float half = w - (w - q);
        float r = (s[i] - half * n) - (q - half) * n;
        float rest = Math.abs(r) + Math.abs(c[i]) + a[i];
        float far = (Math.abs(q) + Math.abs(c[i]) + a[i]) * APART + 2 * Float.MIN_VALUE;
        float b = 2 * a[i] + Math.min(rest * HUGE * HUGE, far);
        float least = q - (b - c[i] / n);
        float most = q + (c[i] / n + b);
        s[i] = least;
        c[i] = most;
        gap[i] = most - most;
      }
    }
  }

  /** Sums of {@code double}s. */
  static final class OfDoubles extends ExactSum {
    private static final double U = 0x1p-53;
    private static final double HUGE = 0x1p1023;
    private static final int MOST_DIVISOR = 1 << 26;
    private static final double SPLIT = (1 << 27) + 1;

    private final double[] s = new double[BLOCK];
    private final double[] c = new double[BLOCK];
    private final double[] a = new double[BLOCK];
    private final double[] gap = new double[BLOCK];
    private final double[] zeros = new double[BLOCK];

    /** If true, there has been one contribution only. */
    private boolean isFirst;

    OfDoubles() {
      super(53, -1074, MOST_DIVISOR);
    }

    @Override
    void begin(Object block, int count, Scratch scratch) {
      System.arraycopy((double[]) block, 0, s, 0, count);
      isFirst = true;
      if (count < Elements.SHORT) {
        Arrays.fill(c, 0, count, 0);
        Arrays.fill(a, 0, count, 0);
      }
    }

    @Override
    void add(Object block, int count, Scratch scratch) {
      double[] x = (double[]) block;
      if (count < Elements.SHORT) {
        for (int i = 0; i < count; i++) {
          double sum = s[i] + x[i];
          double added = sum - s[i];
          double lost = (s[i] - (sum - added)) + (x[i] - added);
          double losses = c[i] + lost;
          double more = losses - c[i];
          a[i] = a[i] + Math.abs((c[i] - (losses - more)) + (lost - more));
          s[i] = sum;
          c[i] = losses;
        }
      } else if (isFirst) {
        addFirst(s, c, a, x, count);
      } else {
        add(s, c, a, x, count);
      }
      isFirst = false;
    }

    /** doubleo the first contribution, of which nothing has been lost. */
    private static void addFirst(double[] s, double[] c, double[] a, double[] x, int count) {
      for (int i = 0; i < count; i++) {
        double sum = s[i] + x[i];
        double added = sum - s[i];
        c[i] = (s[i] - (sum - added)) + (x[i] - added);
        a[i] = 0;
        s[i] = sum;
      }
    }

    private static void add(double[] s, double[] c, double[] a, double[] x, int count) {
      for (int i = 0; i < count; i++) {
        double sum = s[i] + x[i];
        double added = sum - s[i];
        double lost = (s[i] - (sum - added)) + (x[i] - added);
        double losses = c[i] + lost;
        double more = losses - c[i];
        a[i] = a[i] + Math.abs((c[i] - (losses - more)) + (lost - more));
        s[i] = sum;
        c[i] = losses;
      }
    }

    @Override
    void end(int count) {
      Arrays.fill(c, 0, count, 0);
      Arrays.fill(a, 0, count, 0);
    }

    @Override
    void bound(Object result, int count, int divisor, Scratch scratch) {
      double[] lower = (double[]) result;
      if (divisor > 1) {
        average(lower, gap, s, c, a, count, divisor);
      } else if (count < Elements.SHORT) {
        for (int i = 0; i < count; i++) {
          double b = 2 * a[i] + Math.min(a[i] * HUGE * HUGE, Math.abs(c[i]) * (4 * U));
          // By subtraction, so that -0 stays what it is.
          double least = s[i] - (b - c[i]);
          gap[i] = s[i] + (c[i] + b) - least;
          lower[i] = least;
        }
      } else {
        bound(lower, gap, s, c, a, count);
      }
      if (Arrays.mismatch(gap, 0, count, zeros, 0, count) < 0) {
        return;
      }
      for (int i = 0; i < count; i++) {
        if (!(gap[i] == 0)) {
          doubt(i);
        }
      }
    }

    private static void bound(
        double[] lower, double[] gap, double[] s, double[] c, double[] a, int count) {
      for (int i = 0; i < count; i++) {
        double b = 2 * a[i] + Math.min(a[i] * HUGE * HUGE, Math.abs(c[i]) * (4 * U));
        // By subtraction, so that -0 stays what it is.
        double least = s[i] - (b - c[i]);
        gap[i] = s[i] + (c[i] + b) - least;
        lower[i] = least;
      }
    }

    private static void average(
        double[] lower, double[] gap, double[] s, double[] c, double[] a, int count, double n) {
      double each = 3 / n;
      for (int i = 0; i < count; i++) {
        double q = s[i] / n;
        double w = q * SPLIT;
        double half = w - (w - q);
        double r = (s[i] - half * n) - (q - half) * n;
        double t = r + c[i];
        double added = t - r;
        double lost = (r - (t - added)) + (c[i] - added);
        double e = t / n;
        w = e * SPLIT;
        half = w - (w - e);
        double rest = Math.abs((t - half * n) - (e - half) * n) + Math.abs(lost) + a[i];
        double b =
            each * a[i]
                + Math.min(rest * HUGE * HUGE, Math.abs(e) * (4 * U) + 4 * Double.MIN_VALUE);
        // By subtraction, so that -0 stays what it is.
        double least = q - (b - e);
        gap[i] = q + (e + b) - least;
        lower[i] = least;
      }
    }

    @Override
    double value(Object block, int element) {
      return ((double[]) block)[element];
    }

    @Override
    void set(Object result, int element, double value) {
      ((double[]) result)[element] = value;
    }
  }

  /** Sums of numbers of 16 bits. Long blocks are in planes; see {@link Converter16}. */
  static final class OfShorts extends ExactSum {
    private final Format16 format;
    private final FloatSums sums = new FloatSums();
    private final short[] upper = new short[Converter16.BLOCK];

    OfShorts(Format16 format, int precision, int least) {
      super(precision, least, FloatSums.MOST_DIVISOR);
      this.format = format;
    }

    private float[] widen(Object block, int count, Scratch scratch) {
      short[] values = (short[]) block;
      Converter16 converter = scratch.get(Converter16.KEY);
      float[] wide = converter.first;
      if (count < Elements.SHORT) {
        for (int i = 0; i < count; i++) {
          wide[i] = format.widen(values[i]);
        }
      } else {
        converter.widen(format, values, 0, count, wide);
        if (count < wide(count) && format.isJdks()) {
          wide[count] = 0;
        }
      }
      return wide;
    }

    /** Returns the number of floats that stand for the elements. */
    private static int wide(int count) {
      return count < Elements.SHORT ? count : (count + 1) / 2 * 2;
    }

    /** Returns the position of the float of an element. */
    private int place(int element, int count) {
      if (count < Elements.SHORT || format.isJdks()) {
        return element;
      }
      return element / 2 + element % 2 * ((count + 1) / 2);
    }

    @Override
    void begin(Object block, int count, Scratch scratch) {
      sums.begin(widen(block, count, scratch), wide(count));
    }

    @Override
    void add(Object block, int count, Scratch scratch) {
      sums.add(widen(block, count, scratch), wide(count));
    }

    @Override
    void end(int count) {
      sums.end(wide(count));
    }

    @Override
    void bound(Object result, int count, int divisor, Scratch scratch) {
      short[] values = (short[]) result;
      boolean certain = sums.boundApart(wide(count), divisor);
      float[] least = sums.s;
      float[] most = sums.c;
      if (count < Elements.SHORT) {
        for (int i = 0; i < count; i++) {
          values[i] = format.narrow(least[i]);
          certain &= values[i] == format.narrow(most[i]);
        }
      } else {
        Converter16 converter = scratch.get(Converter16.KEY);
        converter.narrow(format, most, upper, 0, count);
        converter.narrow(format, least, values, 0, count);
        certain &= Arrays.mismatch(values, 0, count, upper, 0, count) < 0;
      }
      for (int i = 0; i < count && !certain; i++) {
        int at = place(i, count);
        if (!(sums.gap[at] == 0) || format.narrow(most[at]) != format.narrow(least[at])) {
          doubt(i);
        }
      }
    }

    @Override
    double value(Object block, int element) {
      return format.widen(((short[]) block)[element]);
    }

    @Override
    void set(Object result, int element, double value) {
      ((short[]) result)[element] = format.narrow((float) value);
    }
  }
}
