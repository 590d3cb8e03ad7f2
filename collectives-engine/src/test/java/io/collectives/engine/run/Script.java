package io.collectives.engine.run;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The steps of all ranks of a job, in this order: calls in groups, groups that are split off
 * others, and groups that are closed. A rank does what its groups are for, and nothing else.
 */
final class Script {
  private static final int MOST_STEPS = 10;
  private static final int MOST_STEPS_OF_GROUPS = 40;

  /** Some ranks, as all of them know it before they make it. */
  static final class Team {
    final int number;
    final @Nullable Team parent;
    final int[] ranks;

    /** By ranks that send and receive: the team of these two alone, if there is one. */
    final Map<Integer, Team> pairs = new HashMap<>();

    private Team(int number, @Nullable Team parent, int[] ranks) {
      this.number = number;
      this.parent = parent;
      this.ranks = ranks;
    }

    int memberOf(int rank) {
      for (int member = 0; member < ranks.length; member++) {
        if (ranks[member] == rank) {
          return member;
        }
      }
      return -1;
    }

    boolean has(int rank) {
      return memberOf(rank) >= 0;
    }

    /** The group, as one of its ranks keeps it. */
    Group group(int rank) {
      return parent == null
          ? Group.world(ranks.length, rank)
          : new Group(Dice.mix(number), ranks, memberOf(rank), inlineChannel());
    }

    /** A channel that no other team has, if there is one left. */
    private @Nullable InlineChannel inlineChannel() {
      return number < InlineChannels.COUNT ? new InlineChannel(number, 0) : null;
    }

    @Override
    public String toString() {
      return parent == null ? "the job" : "team " + number + " of " + Arrays.toString(ranks);
    }
  }

  /**
   * A step: a call of a team, or the end of a team, or its beginning.
   *
   * @param team whose it is; the one that is closed, or made
   */
  record Step(Kind kind, Team team, @Nullable Operation call) {
    @Override
    public String toString() {
      return switch (kind) {
        case MAKE -> "make " + team;
        case CLOSE -> "close " + team;
        case CALL -> team + ": " + call;
      };
    }
  }

  enum Kind {
    MAKE,
    CALL,
    CLOSE
  }

  final List<Step> steps = new ArrayList<>();
  final List<Team> teams = new ArrayList<>();
  private final Dice random;

  Script(Dice random, int size) {
    this.random = random;
    Team world = new Team(0, null, IntStream.range(0, size).toArray());
    teams.add(world);
    List<Team> open = new ArrayList<>(List.of(world));
    boolean manyGroups = random.oneIn(12);
    int length = 1 + random.nextInt(manyGroups ? MOST_STEPS_OF_GROUPS : MOST_STEPS);
    for (int i = 0; i < length; i++) {
      Team team = random.any(open.toArray(Team[]::new));
      int what = random.nextInt(manyGroups ? 5 : 12);
      if (what == 0) {
        split(team, open);
      } else if (what == 1 && team != world) {
        open.remove(team);
        close(team);
      } else if (what == 2 && team.ranks.length > 1) {
        message(team);
      } else {
        call(team, Operation.of(random, team.ranks.length));
      }
    }
    open.remove(world);
    if (random.nextBoolean()) {
      open.forEach(this::close);
    }
  }

  private void call(Team team, Operation operation) {
    steps.add(new Step(Kind.CALL, team, operation));
  }

  private void close(Team team) {
    steps.add(new Step(Kind.CLOSE, team, null));
  }

  /** All ranks of a team choose a color; those of one are a new team, in any order. */
  private void split(Team team, List<Team> open) {
    int colors = 1 + random.nextInt(3);
    int[] colorOf =
        IntStream.range(0, team.ranks.length).map(i -> random.nextInt(colors)).toArray();
    for (int color = 0; color < colors; color++) {
      int wanted = color;
      int[] ranks =
          IntStream.range(0, team.ranks.length)
              .filter(i -> colorOf[i] == wanted)
              .map(i -> team.ranks[i])
              .toArray();
      if (ranks.length > 0) {
        int other = random.nextInt(ranks.length);
        int first = ranks[0];
        ranks[0] = ranks[other];
        ranks[other] = first;
        open.add(make(team, ranks));
      }
    }
  }

  private Team make(Team parent, int[] ranks) {
    Team made = new Team(teams.size(), parent, ranks);
    teams.add(made);
    steps.add(new Step(Kind.MAKE, made, null));
    return made;
  }

  private void message(Team team) {
    int from = random.nextInt(team.ranks.length);
    int to = (from + 1 + random.nextInt(team.ranks.length - 1)) % team.ranks.length;
    Team pair =
        team.pairs.computeIfAbsent(
            from * team.ranks.length + to,
            key -> make(team, new int[] {team.ranks[from], team.ranks[to]}));
    call(pair, Operation.message(random));
  }

  /** The teams that are closed with one: itself, and its pairs. */
  static List<Team> closedWith(Team team) {
    List<Team> all = new ArrayList<>(team.pairs.values());
    all.add(team);
    return all;
  }
}
