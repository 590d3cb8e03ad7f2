package io.collectives.bench.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The scale of an axis: where values stand, and the ticks that tell so, with units. */
public final class Scale {
  /** The unit of the values of an axis. */
  public enum Unit {
    /** Nanoseconds, which labels have as ns, µs, ms or s. */
    NANOS(10, "ns", "µs", "ms", "s"),
    /** Bytes, which labels have as B, KiB, MiB and so on. */
    BYTES(2, "B", "KiB", "MiB", "GiB", "TiB"),
    /** Numbers of things that are doubled as a rule, as ranks are. */
    COUNT(2),
    /** Numbers without a unit. */
    NUMBER(10);

    /** More digits than these are noise of the arithmetic. */
    private static final int DIGITS = 10;

    private final int base;
    private final List<String> names;

    Unit(int base, String... names) {
      this.base = base;
      this.names = List.of(names);
    }

    /** Returns a round value with all its digits, as {@code 2.5 µs}, {@code 64 KiB} or 4,096. */
    public String label(double value) {
      return label(value, DIGITS);
    }

    /** Returns any value, with so many digits at most. */
    public String label(double value, int digits) {
      return label(value, digits, value);
    }

    /** Returns a value in the unit that another one has. */
    private String label(double value, int digits, double like) {
      if (value == 0) {
        return "0";
      }
      if (names.isEmpty()) {
        return number(value, digits);
      }
      int step = this == BYTES ? 1024 : 1000;
      double divisor = 1;
      int name = 0;
      while (like / divisor >= step && name < names.size() - 1) {
        divisor *= step;
        name++;
      }
      return number(value / divisor, digits) + " " + names.get(name);
    }

    private static String number(double value, int digits) {
      BigDecimal rounded =
          new BigDecimal(value).round(new MathContext(digits)).stripTrailingZeros();
      if (rounded.abs().compareTo(new BigDecimal("0.001")) >= 0) {
        String text = rounded.toPlainString();
        return rounded.scale() > 0
            ? text
            : String.format(Locale.ROOT, "%,d", rounded.toBigInteger());
      }
      int exponent = rounded.precision() - rounded.scale() - 1;
      BigDecimal mantissa = rounded.scaleByPowerOfTen(-exponent).stripTrailingZeros();
      String power = "10" + superscript(exponent);
      return mantissa.compareTo(BigDecimal.ONE) == 0
          ? power
          : mantissa.toPlainString() + "·" + power;
    }

    private static String superscript(int exponent) {
      StringBuilder text = new StringBuilder();
      for (char c : Integer.toString(exponent).toCharArray()) {
        text.append(c == '-' ? '⁻' : "⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(c - '0'));
      }
      return text.toString();
    }
  }

  /** A mark of an axis. */
  public record Tick(double value, String label) {}

  /** The multiples of powers of ten that ticks stand at, the fewest first. */
  private static final double[][] MULTIPLES = {{1}, {1, 3}, {1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};

  /** The number of ticks from which on there need not be more. */
  private static final int ENOUGH = 3;

  private final Unit unit;
  private final boolean isLogarithmic;
  private final double from;
  private final double to;

  /**
   * Makes one.
   *
   * @param from the value at its beginning; more than 0 if it is logarithmic
   * @param to the value at its end, more than {@code from}
   */
  public Scale(Unit unit, boolean isLogarithmic, double from, double to) {
    if (!(to > from) || isLogarithmic && !(from > 0)) {
      throw new IllegalArgumentException("no scale goes from " + from + " to " + to);
    }
    this.unit = unit;
    this.isLogarithmic = isLogarithmic;
    this.from = from;
    this.to = to;
  }

  /** Returns the part of the axis, from 0 to 1, that lies before a value. */
  public double at(double value) {
    return isLogarithmic
        ? Math.log(value / from) / Math.log(to / from)
        : (value - from) / (to - from);
  }

  /** Returns ticks in order, at most so many, at round values from beginning to end. */
  public List<Tick> ticks(int most) {
    if (!isLogarithmic) {
      return linear(Math.max(2, most));
    }
    return unit.base == 2 ? doubled(Math.max(2, most)) : decades(Math.max(2, most));
  }

  private List<Tick> linear(int most) {
    // Powers of 1,024 are round numbers of bytes only if what is before them is whole.
    double power =
        unit == Unit.BYTES
            ? Math.pow(2, Math.ceil(Math.log((to - from) / most) / Math.log(2)))
            : Math.pow(10, Math.floor(Math.log10((to - from) / most)));
    double step = unit == Unit.BYTES ? Math.max(1, power) : power;
    for (double multiple : new double[] {2, 5, 10, 20}) {
      if (Math.floor((to - from) / step) + 1 > most) {
        step = multiple * power;
      }
    }
    if (unit == Unit.COUNT) {
      step = Math.max(1, step);
    }
    List<Tick> ticks = new ArrayList<>();
    for (long i = (long) Math.ceil(from / step - 1e-9); i * step <= to + 1e-9 * step; i++) {
      // All in one unit, as they are as far apart as their numbers.
      ticks.add(new Tick(i * step, unit.label(i * step, Unit.DIGITS, to)));
    }
    return ticks;
  }

  private List<Tick> doubled(int most) {
    int first = (int) Math.ceil(Math.log(from) / Math.log(2) - 1e-9);
    int last = (int) Math.floor(Math.log(to) / Math.log(2) + 1e-9);
    int step = Math.max(1, (int) Math.ceil((last - first + 1.0) / most));
    List<Tick> ticks = new ArrayList<>();
    for (int power = first; power <= last; power += step) {
      add(ticks, Math.pow(2, power));
    }
    return ticks;
  }

  private List<Tick> decades(int most) {
    List<Tick> best = List.of();
    for (double[] multiples : MULTIPLES) {
      List<Tick> ticks = new ArrayList<>();
      int last = (int) Math.floor(Math.log10(to));
      for (int power = (int) Math.floor(Math.log10(from)); power <= last; power++) {
        for (double multiple : multiples) {
          double value = multiple * Math.pow(10, power);
          if (value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9)) {
            add(ticks, value);
          }
        }
      }
      boolean areMore = ticks.size() > best.size() && ticks.size() <= most;
      if (best.isEmpty() || best.size() < ENOUGH && areMore) {
        best = ticks;
      }
    }
    if (best.size() < 2) {
      return linear(most);
    }
    int step = (best.size() + most - 1) / most;
    List<Tick> thinned = new ArrayList<>();
    for (int i = 0; i < best.size(); i += step) {
      thinned.add(best.get(i));
    }
    return thinned;
  }

  private void add(List<Tick> ticks, double value) {
    ticks.add(new Tick(value, unit.label(value)));
  }
}
