package io.collectives.ps;

import io.collectives.Algorithm;
import io.collectives.Communicator;
import io.collectives.Payload;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The role of each rank of a group: at least one works and at least one serves.
 *
 * <p>In the set-up of the Herring paper (Thangakrishnan et al. 2020, section III-A) there are as
 * many dedicated servers as workers, on hosts of the same bandwidth: then every host sends and
 * receives each byte of the gradients once, half of what a ring takes. Servers among the workers
 * cost no hosts, and take what a ring does, in two hops.
 *
 * @param ofRanks by rank
 */
public record Roles(List<Role> ofRanks) {
  private static final String ROLE_VARIABLE = "COLLECTIVES_ROLE";
  private static final String SERVERS_VARIABLE = "COLLECTIVES_SERVERS";
  private static final int NOTHING = -1;
  private static final int WRONG = -2;

  /** Checks that there is work and somebody to serve. */
  public Roles {
    ofRanks = List.copyOf(ofRanks);
    if (ofRanks.stream().noneMatch(Role::works) || ofRanks.stream().noneMatch(Role::serves)) {
      throw new IllegalArgumentException(
          "roles " + ofRanks + ": at least one rank must be a worker and at least one a server");
    }
  }

  /**
   * The last ranks serve and do nothing else.
   *
   * @param ranks of the job
   * @param servers from 1 to {@code ranks - 1}
   */
  public static Roles dedicated(int ranks, int servers) {
    requireServers(ranks, servers, ranks - 1);
    List<Role> roles = new ArrayList<>(Collections.nCopies(ranks - servers, Role.WORKER));
    roles.addAll(Collections.nCopies(servers, Role.SERVER));
    return new Roles(roles);
  }

  /**
   * All ranks work, and the first ones serve, too.
   *
   * @param ranks of the job
   * @param servers from 1 to {@code ranks}
   */
  public static Roles shared(int ranks, int servers) {
    requireServers(ranks, servers, ranks);
    List<Role> roles = new ArrayList<>(Collections.nCopies(servers, Role.BOTH));
    roles.addAll(Collections.nCopies(ranks - servers, Role.WORKER));
    return new Roles(roles);
  }

  private static void requireServers(int ranks, int servers, int most) {
    if (servers < 1 || servers > most) {
      throw new IllegalArgumentException(
          servers + " servers in a job of " + ranks + " ranks: must be from 1 to " + most);
    }
  }

  /**
   * What the environment says, see {@link #fromEnvironment(Communicator, Map)}.
   *
   * @param world all ranks of it call this, in the same order as its other calls
   */
  public static Roles fromEnvironment(Communicator world) {
    return fromEnvironment(world, System.getenv());
  }

  /**
   * What the environments of all ranks say together. COLLECTIVES_ROLE, which is {@code worker},
   * {@code server} or {@code both}, is the role of the rank that has it. COLLECTIVES_SERVERS says
   * how many ranks serve: if roles are not given they are the last ones, dedicated; else the number
   * is compared with theirs. A rank without either is a worker, unless no rank has any: then all
   * work and serve.
   *
   * @param world all ranks of it call this, in the same order as its other calls
   * @throws IllegalArgumentException on all ranks if a value is none of these, or they do not go
   *     together
   */
  public static Roles fromEnvironment(Communicator world, Map<String, String> environment) {
    int size = world.size();
    int[] said = new int[2 * size];
    int me = 2 * world.rank();
    said[me] = role(environment.get(ROLE_VARIABLE));
    said[me + 1] = servers(environment.get(SERVERS_VARIABLE));
    Payload all = Payload.of(said);
    world.allGather(Payload.of(said, me, 2), all);
    int servers = NOTHING;
    for (int rank = 0; rank < size; rank++) {
      int role = said[2 * rank];
      int count = said[2 * rank + 1];
      if (role == WRONG || count == WRONG) {
        throw new IllegalArgumentException(
            (role == WRONG ? ROLE_VARIABLE : SERVERS_VARIABLE)
                + " of rank "
                + world.worldRank(rank)
                + (role == WRONG
                    ? ": must be worker, server or both"
                    : ": must be a number of servers, at least 1"));
      }
      if (count != NOTHING && servers != NOTHING && count != servers) {
        throw new IllegalArgumentException(
            SERVERS_VARIABLE + " is " + servers + " on one rank and " + count + " on another");
      }
      servers = Math.max(servers, count);
    }
    boolean hasRoles = IntStream.range(0, size).anyMatch(rank -> said[2 * rank] != NOTHING);
    if (!hasRoles) {
      return servers == NOTHING ? shared(size, size) : dedicated(size, servers);
    }
    List<Role> roles = new ArrayList<>();
    for (int rank = 0; rank < size; rank++) {
      roles.add(said[2 * rank] == NOTHING ? Role.WORKER : Role.values()[said[2 * rank]]);
    }
    Roles found = new Roles(roles);
    if (servers != NOTHING && found.servers() != servers) {
      throw new IllegalArgumentException(
          SERVERS_VARIABLE
              + "="
              + servers
              + ", but by "
              + ROLE_VARIABLE
              + " "
              + found.servers()
              + " ranks serve: "
              + roles);
    }
    return found;
  }

  private static int role(@Nullable String text) {
    if (text == null || text.isBlank()) {
      return NOTHING;
    }
    String wanted = text.trim().toUpperCase(Locale.ROOT);
    return Arrays.stream(Role.values())
        .filter(role -> role.name().equals(wanted))
        .mapToInt(Role::ordinal)
        .findFirst()
        .orElse(WRONG);
  }

  private static int servers(@Nullable String text) {
    if (text == null || text.isBlank()) {
      return NOTHING;
    }
    String number = text.trim();
    return number.matches("[1-9]\\d{0,6}") ? Integer.parseInt(number) : WRONG;
  }

  /** How many ranks there are. */
  public int size() {
    return ofRanks.size();
  }

  /** The role of a rank. */
  public Role of(int rank) {
    return ofRanks.get(rank);
  }

  /** How many ranks compute gradients. */
  public int workers() {
    return ranks(Role::works).length;
  }

  /** How many ranks add the gradients of others. */
  public int servers() {
    return ranks(Role::serves).length;
  }

  /** How many of them do nothing else. */
  public int dedicated() {
    return ranks(role -> !role.works()).length;
  }

  /** By what the workers reduce in a group in the order of {@link #seats()}. */
  Algorithm algorithm() {
    return Algorithm.parameterServer(servers(), dedicated());
  }

  /** All ranks, servers among the workers first, dedicated ones last. */
  int[] seats() {
    return IntStream.concat(
            IntStream.concat(
                IntStream.of(ranks(role -> role == Role.BOTH)),
                IntStream.of(ranks(role -> role == Role.WORKER))),
            IntStream.of(ranks(role -> role == Role.SERVER)))
        .toArray();
  }

  /** The ranks that compute gradients, in their own order. */
  int[] workerRanks() {
    return ranks(Role::works);
  }

  private int[] ranks(Predicate<Role> wanted) {
    return IntStream.range(0, size()).filter(rank -> wanted.test(of(rank))).toArray();
  }

  /** As {@code 4 workers, 2 of which serve, and 1 dedicated server}. */
  @Override
  public String toString() {
    int shared = servers() - dedicated();
    return workers()
        + (workers() == 1 ? " worker" : " workers")
        + (shared > 0 ? ", " + shared + " of which serve" : "")
        + (shared > 0 && dedicated() > 0 ? ", and " : dedicated() > 0 ? " and " : "")
        + (dedicated() > 0
            ? dedicated() + (dedicated() == 1 ? " dedicated server" : " dedicated servers")
            : "");
  }
}
