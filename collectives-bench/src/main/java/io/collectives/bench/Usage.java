package io.collectives.bench;

import io.collectives.bench.report.Drawing;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;

/** Wrong usage: what ends the program with status 2 and one line. */
final class Usage {
  private static final Pattern TIME = Pattern.compile("(\\d{1,6}(\\.\\d{1,9})?)([smh]?)");

  private Usage() {}

  /** An error that says what is wrong; how to get help is added. */
  static ParameterException error(CommandSpec spec, String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  /** Checks a value. */
  static void require(boolean good, CommandSpec spec, String message) {
    if (!good) {
      throw error(spec, message);
    }
  }

  /** Checks the name of a picture. */
  static void requireChart(Optional<Path> file, CommandSpec spec) {
    file.ifPresent(
        name ->
            require(
                Drawing.canWrite(name), spec, "--chart " + name + ": must end with .png or .svg"));
  }

  /** Checks a time that is given in seconds. */
  static void requireSeconds(double seconds, CommandSpec spec, String option) {
    require(
        seconds >= 0 && seconds <= 86_400,
        spec,
        option + " " + seconds + ": must be from 0 to 86400 seconds");
  }

  /**
   * Reads a time: seconds as {@code 3}, {@code 0.5} or {@code 3s}, minutes as {@code 5m}, hours as
   * {@code 1h}.
   *
   * @throws IllegalArgumentException if it is none
   */
  static Duration duration(String text) {
    Matcher matcher = TIME.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is no time; write seconds as 3, 0.5 or 3s, minutes as 5m, hours as 1h");
    }
    int seconds = matcher.group(3).equals("h") ? 3_600 : matcher.group(3).equals("m") ? 60 : 1;
    return Duration.ofNanos(
        new BigDecimal(matcher.group(1))
            .multiply(BigDecimal.valueOf(seconds))
            .movePointRight(9)
            .longValueExact());
  }

  /** Reads values whose own parser says what is wrong with them. */
  static <T> ITypeConverter<T> reader(Function<String, T> parser) {
    return text -> {
      try {
        return parser.apply(text);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    };
  }

  /** Reads the constants of an enumeration by what their {@code toString} says. */
  static <E extends Enum<E>> ITypeConverter<E> labels(Class<E> type) {
    E[] all = type.getEnumConstants();
    return text ->
        Arrays.stream(all)
            .filter(constant -> constant.toString().equalsIgnoreCase(text))
            .findFirst()
            .orElseThrow(
                () ->
                    new TypeConversionException(
                        "'"
                            + text
                            + "' is none of "
                            + Arrays.stream(all)
                                .map(E::toString)
                                .collect(Collectors.joining(", "))));
  }
}
