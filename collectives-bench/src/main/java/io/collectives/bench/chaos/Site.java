package io.collectives.bench.chaos;

import io.collectives.bench.chaos.Fault.Kind;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The hosts of the ranks of jobs, and their transport.
 *
 * @param transport by its name: {@code tcp}, {@code shm}, {@code unix} or {@code auto}
 * @param hosts how many hosts the ranks count as, in blocks of neighbours; only {@code auto} tells
 *     hosts apart
 * @param directory where shared memory and Unix-domain sockets are; if null, where they usually are
 */
public record Site(String transport, int hosts, @Nullable Path directory) {
  private static final String TCP = "tcp";
  private static final String AUTO = "auto";

  /** Returns one host whose ranks use TCP. */
  static Site tcp() {
    return new Site(TCP, 1, null);
  }

  /** Returns this site with shared memory and Unix-domain sockets in that directory. */
  public Site in(Path place) {
    return new Site(transport, hosts, place);
  }

  /** Returns what the process of a rank must know of it. */
  Map<String, String> variables(int rank, int ranks) {
    Map<String, String> variables = new HashMap<>();
    variables.put("COLLECTIVES_TRANSPORT", transport);
    if (hosts > 1) {
      variables.put("COLLECTIVES_HOST", "chaos-" + host(rank, ranks));
    }
    if (directory != null) {
      variables.put("COLLECTIVES_MEMORY_DIRECTORY", directory.toString());
    }
    return variables;
  }

  private int host(int rank, int ranks) {
    return (int) ((long) rank * hosts / ranks);
  }

  /** Returns whether two ranks talk by TCP. */
  boolean isTcp(int one, int other, int ranks) {
    return transport.equals(TCP)
        || transport.equals(AUTO) && host(one, ranks) != host(other, ranks);
  }

  /**
   * The ranks that a kind of fault can hit: all, or those whose connection to the next one can be
   * hit; none if the network is no part of how they talk.
   */
  public List<Integer> victims(Kind kind, int ranks) {
    return IntStream.range(0, ranks)
        .filter(
            rank ->
                switch (kind) {
                  case KILL, STOP -> true;
                  case RESET, CUT -> isTcp(rank, (rank + 1) % ranks, ranks);
                  case ISOLATE -> transport.equals(TCP);
                })
        .boxed()
        .toList();
  }

  /** Returns the name in tables. */
  @Override
  public String toString() {
    return hosts > 1 ? transport + ", " + hosts + " hosts" : transport;
  }
}
