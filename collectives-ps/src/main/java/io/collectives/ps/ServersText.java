package io.collectives.ps;

import io.collectives.Algorithm;
import io.collectives.spi.AlgorithmSpec;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The text of parameter servers after the colon: {@code 2} is 2 servers among the workers; {@code
 * 1+2} is 1 server among the workers and 2 dedicated ones; {@code 1+2x4} has 4 ranks, its proxies,
 * in each dedicated server; {@code 0+2x4/8} also has 8 workers on each host, which reduce among
 * themselves first. A number of servers may be {@code n}, which is the number of workers. If there
 * is no text, half of the ranks serve.
 */
final class ServersText implements AlgorithmSpec.Reader {
  static final String FORM =
      "[:S[+DEDICATED[xPROXIES]][/WORKERS-PER-HOST]] (S, DEDICATED: n for as many as workers)";

  static final Pattern ALLOWED =
      Pattern.compile(
          "(?:(\\d{1,6}|n)(?:\\+(\\d{1,6}|n)(?:x([1-9]\\d{0,3}))?)?(?:/([1-9]\\d{0,3}))?)?");

  private static final String AS_MANY_AS_WORKERS = "n";

  @Override
  public Algorithm read(String text, int ranks) {
    if (text.isEmpty()) {
      return Algorithm.parameterServer(Math.max(1, ranks / 2));
    }
    Matcher matcher = matcher(text);
    int proxies = times(matcher.group(3));
    int workers = workers(matcher.group(2), proxies, ranks, text);
    int dedicated = ranks - workers;
    int servers = number(matcher.group(1), workers) + dedicated;
    if (servers < 1 || servers > ranks || workers < 1) {
      throw new IllegalArgumentException(
          "parameter-server:"
              + text
              + ": from 1 to "
              + ranks
              + " of "
              + ranks
              + " ranks can serve"
              + (dedicated > 0 ? ", and 1 must be a worker" : ""));
    }
    return Algorithm.parameterServer(
        servers,
        dedicated,
        Algorithm.ParameterServer.hosts(workers, times(matcher.group(4)), dedicated, proxies));
  }

  @Override
  public int ranks(String text, int workers) {
    Matcher matcher = matcher(text);
    return matcher.group(2) == null
        ? workers
        : workers + number(matcher.group(2), workers) * times(matcher.group(3));
  }

  private static Matcher matcher(String text) {
    Matcher matcher = ALLOWED.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "parameter-server:" + text + ": parameter servers are written " + FORM);
    }
    return matcher;
  }

  /** Returns the number of workers. */
  private static int workers(@Nullable String dedicated, int proxies, int ranks, String text) {
    if (dedicated == null) {
      return ranks;
    }
    if (!dedicated.equals(AS_MANY_AS_WORKERS)) {
      return (int) Math.max(0, ranks - (long) Integer.parseInt(dedicated) * proxies);
    }
    int each = 1 + proxies;
    if (ranks % each != 0) {
      throw new IllegalArgumentException(
          "parameter-server:"
              + text
              + ": as many dedicated servers as workers are a multiple of "
              + each
              + " ranks, not "
              + ranks);
    }
    return ranks / each;
  }

  private static int number(String written, int workers) {
    return written.equals(AS_MANY_AS_WORKERS) ? workers : Integer.parseInt(written);
  }

  private static int times(@Nullable String written) {
    return written == null ? 1 : Integer.parseInt(written);
  }
}
