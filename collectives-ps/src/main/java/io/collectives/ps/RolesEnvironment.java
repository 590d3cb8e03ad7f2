package io.collectives.ps;

import io.collectives.Communicator;
import io.collectives.Payload;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The roles that the environment variables of all ranks set together. */
final class RolesEnvironment {
  private static final String ROLE = "COLLECTIVES_ROLE";
  private static final String SERVERS = "COLLECTIVES_SERVERS";
  private static final String PROXIES = "COLLECTIVES_PROXIES";
  private static final String HIERARCHY = "COLLECTIVES_HIERARCHY";
  private static final int NOTHING = -1;
  private static final int WRONG = -2;

  /**
   * The values that each rank sends, each at its place: a number, no value, or an invalid value.
   */
  private enum Said {
    ROLE(RolesEnvironment.ROLE, "must be worker, server or both"),
    SERVERS(RolesEnvironment.SERVERS, "must be a number of servers, at least 1"),
    PROXIES(RolesEnvironment.PROXIES, "must be a number of proxies for each server, at least 1"),
    HIERARCHY(RolesEnvironment.HIERARCHY, "must be true or false");

    final String variable;
    final String needed;

    Said(String variable, String needed) {
      this.variable = variable;
      this.needed = needed;
    }

    int read(@Nullable String text) {
      if (text == null || text.isBlank()) {
        return NOTHING;
      }
      String value = text.trim();
      return switch (this) {
        case ROLE -> place(List.of(Role.values()), value.toUpperCase(Locale.ROOT));
        case SERVERS, PROXIES -> value.matches("[1-9]\\d{0,6}") ? Integer.parseInt(value) : WRONG;
        case HIERARCHY -> place(List.of(false, true), value.toLowerCase(Locale.ROOT));
      };
    }

    private static int place(List<?> values, String text) {
      return IntStream.range(0, values.size())
          .filter(i -> values.get(i).toString().equals(text))
          .findFirst()
          .orElse(WRONG);
    }
  }

  private static final int WORDS = Said.values().length;

  private final Communicator world;
  private final int[] said;

  private RolesEnvironment(Communicator world, int[] said) {
    this.world = world;
    this.said = said;
  }

  static Roles read(Communicator world, Map<String, String> environment) {
    int[] said = new int[WORDS * world.size()];
    int me = WORDS * world.rank();
    for (Said one : Said.values()) {
      said[me + one.ordinal()] = one.read(environment.get(one.variable));
    }
    gather(world, said, WORDS);
    RolesEnvironment all = new RolesEnvironment(world, said);
    all.requireNothingWrong();
    boolean hierarchy = all.common(Said.HIERARCHY) == 1;
    Roles roles = all.roles();
    return hierarchy ? hosts(roles, world) : roles;
  }

  private void requireNothingWrong() {
    for (int rank = 0; rank < world.size(); rank++) {
      for (Said one : Said.values()) {
        if (of(rank, one) == WRONG) {
          throw new IllegalArgumentException(
              one.variable + " of rank " + world.worldRank(rank) + ": " + one.needed);
        }
      }
    }
  }

  private int of(int rank, Said one) {
    return said[WORDS * rank + one.ordinal()];
  }

  /** Returns the value of all ranks that have one. */
  private int common(Said one) {
    int known = NOTHING;
    for (int rank = 0; rank < world.size(); rank++) {
      int next = of(rank, one);
      if (next != NOTHING && known != NOTHING && next != known) {
        throw new IllegalArgumentException(
            one.variable
                + " is "
                + text(one, known)
                + " on one rank and "
                + text(one, next)
                + " on another");
      }
      known = Math.max(known, next);
    }
    return known;
  }

  private static String text(Said one, int value) {
    return one == Said.HIERARCHY ? "" + (value == 1) : "" + value;
  }

  private Roles roles() {
    int size = world.size();
    int servers = common(Said.SERVERS);
    int proxies = common(Said.PROXIES);
    boolean hasRoles = IntStream.range(0, size).anyMatch(rank -> of(rank, Said.ROLE) != NOTHING);
    if (!hasRoles) {
      if (servers == NOTHING && proxies != NOTHING) {
        throw new IllegalArgumentException(
            PROXIES
                + "="
                + proxies
                + ", but neither "
                + SERVERS
                + " nor "
                + ROLE
                + " says that there are dedicated servers: set one of them");
      }
      return servers == NOTHING
          ? Roles.shared(size, size)
          : Roles.dedicated(size, servers, Math.max(1, proxies));
    }
    List<Role> ofRanks = new ArrayList<>();
    for (int rank = 0; rank < size; rank++) {
      int role = of(rank, Said.ROLE);
      ofRanks.add(role == NOTHING ? Role.WORKER : Role.values()[role]);
    }
    Roles alone = new Roles(ofRanks);
    Roles found = proxies == NOTHING ? alone : alone.withProxies(proxies);
    if (servers != NOTHING && found.servers() != servers) {
      throw new IllegalArgumentException(
          SERVERS
              + "="
              + servers
              + ", but by "
              + ROLE
              + (proxies == NOTHING ? " " : " and " + PROXIES + " ")
              + found.servers()
              + (proxies == NOTHING ? " ranks serve: " : " servers are there: ")
              + ofRanks);
    }
    return found;
  }

  /** Sends the host of each rank to all ranks; their names may have different lengths. */
  static Roles hosts(Roles roles, Communicator world) {
    String host = world.host();
    int[] lengths = new int[world.size()];
    lengths[world.rank()] = host.length();
    gather(world, lengths, 1);
    int longest = Arrays.stream(lengths).max().orElseThrow();
    int[] names = new int[longest * world.size()];
    for (int i = 0; i < host.length(); i++) {
      names[longest * world.rank() + i] = host.charAt(i);
    }
    gather(world, names, longest);
    return roles.withHosts(
        IntStream.range(0, world.size())
            .mapToObj(rank -> new String(names, longest * rank, lengths[rank]))
            .toList());
  }

  /** Fills in the words of the other ranks at their places. */
  private static void gather(Communicator world, int[] all, int words) {
    world.allGather(Payload.of(all, words * world.rank(), words), Payload.of(all));
  }
}
