package io.collectives.bench.status;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer of a rank to the question what it does.
 *
 * @param busyMillis how long the engine could not be asked, 0 if it could
 * @param links to the peers with which anything was exchanged
 * @param groups of which the rank is a member
 * @param threads only if its stacks were asked for
 */
public record RankAnswer(
    Place place,
    Process process,
    Memory memory,
    long busyMillis,
    List<Link> links,
    List<Group> groups,
    Threads threads) {

  /** The rank's place in its job; {@code run} is the first digits of the job's epoch. */
  public record Place(int rank, int size, String run, String job, String rendezvous) {}

  /** The process of the rank; {@code domain} is the same for ranks that could share memory. */
  public record Process(
      long pid, String host, String domain, long joinedMicros, long processorMillis) {}

  /** The bytes that the process holds, and the time that it has spent on collecting garbage. */
  public record Memory(
      long heapUsed,
      long heapLimit,
      long direct,
      long mapped,
      long libraryLimit,
      long collections,
      long collectionMillis) {}

  /** The frames and bytes that have passed between the rank and a peer since they joined. */
  public record Link(
      int peer,
      String transport,
      long framesSent,
      long bytesSent,
      long framesReceived,
      long bytesReceived) {}

  /**
   * A group; members are ranks of the job, nothing if all are.
   *
   * @param begun how many calls this rank has begun
   */
  public record Group(
      String id,
      @Nullable List<Integer> members,
      long begun,
      boolean broken,
      String detail,
      @Nullable EndedCall last,
      List<Call> calls) {}

  /** The call that ended last. */
  public record EndedCall(
      long sequence,
      String collective,
      String algorithm,
      String type,
      long bytes,
      long tookMicros,
      long sinceMicros) {}

  /** The description of a call. */
  public record Operation(
      String collective, String algorithm, String op, String type, long bytes) {}

  /**
   * A call that is not over.
   *
   * @param state running, queued or stopped
   * @param awaited the rank for which it waits, -1 if it waits for nobody
   */
  public record Call(
      long sequence, Operation operation, String state, long micros, int awaited, String detail) {
    /** Returns whether its turn has come and it waits for a rank. */
    public boolean waits() {
      return state.equals("running") && awaited >= 0;
    }
  }

  /** The threads whose stacks were told, and how many were not. */
  public record Threads(List<Stack> stacks, int hidden) {}

  /** The stack of a thread, innermost method first; {@code cut} is how many frames are not told. */
  public record Stack(String state, String name, List<String> frames, int cut) {}

  /** Keeps copies of the lists. */
  public RankAnswer {
    links = List.copyOf(links);
    groups = List.copyOf(groups);
  }

  /** The rank in its job. */
  public int rank() {
    return place.rank;
  }

  /** Returns the group of an id, null if the rank is in none. */
  @Nullable Group group(String id) {
    for (Group group : groups) {
      if (group.id.equals(id)) {
        return group;
      }
    }
    return null;
  }

  /**
   * Returns the call in which the rank waits for longest, with its group; null if it is in none.
   */
  public @Nullable InCall oldest() {
    InCall oldest = null;
    for (Group group : groups) {
      for (Call call : group.calls) {
        if (call.waits() && (oldest == null || call.micros > oldest.call.micros)) {
          oldest = new InCall(group, call);
        }
      }
    }
    return oldest;
  }

  /** A call of a group. */
  public record InCall(Group group, Call call) {}

  /** Returns the call that ended last in any group, null if none is known. */
  public @Nullable EndedCall lastEnded() {
    EndedCall last = null;
    for (Group group : groups) {
      EndedCall ended = group.last;
      if (ended != null && (last == null || ended.sinceMicros < last.sinceMicros)) {
        last = ended;
      }
    }
    return last;
  }

  /**
   * Reads an answer.
   *
   * @throws IllegalArgumentException if it is none, or not whole; the message says what is wrong
   */
  public static RankAnswer parse(String text) {
    return new Reader(text).answer();
  }

  /** Reads the lines of one answer; lines of kinds that it does not know are passed over. */
  private static final class Reader {
    private static final int MOST_LINES = 100_000;

    private final String[] lines;
    private String line = "";
    private String[] cells = {};
    private @Nullable Place place;
    private @Nullable Process process;
    private long[] memory = new long[5];
    private long[] gc = new long[2];
    private String rendezvous = "";
    private long busy;
    private int hidden;
    private boolean isWhole;
    private final List<Link> links = new ArrayList<>();
    private final List<Group> groups = new ArrayList<>();
    private final List<Stack> stacks = new ArrayList<>();

    Reader(String text) {
      lines = text.split("\n", MOST_LINES);
    }

    RankAnswer answer() {
      next(0);
      if (!cell(0).equals("collectives-status")) {
        throw new IllegalArgumentException("it does not begin with collectives-status");
      }
      if (!cell(1).equals("1")) {
        throw new IllegalArgumentException(
            "it is of version " + cell(1) + ", and this program reads version 1");
      }
      for (int i = 1; i < lines.length; i++) {
        next(i);
        take();
      }
      Place where = place;
      Process who = process;
      if (!isWhole || where == null || who == null) {
        throw new IllegalArgumentException("it ends before all was said");
      }
      return new RankAnswer(
          new Place(where.rank, where.size, where.run, where.job, rendezvous),
          who,
          new Memory(memory[0], memory[1], memory[2], memory[3], memory[4], gc[0], gc[1]),
          busy,
          links,
          groups,
          new Threads(stacks, hidden));
    }

    private void take() {
      switch (cell(0)) {
        case "rank" -> place = new Place(rank(1), rank(2), cell(3), cell(4), "");
        case "process" -> process = new Process(number(1), cell(2), cell(3), number(4), number(5));
        case "place" -> rendezvous = cell(1);
        case "memory" -> memory = numbers(5);
        case "gc" -> gc = numbers(2);
        case "busy" -> busy = number(1);
        case "link" ->
            links.add(new Link(rank(1), cell(2), number(3), number(4), number(5), number(6)));
        case "group" -> groups.add(group());
        case "last" ->
            with(
                new EndedCall(
                    number(2), cell(3), cell(4), cell(5), number(6), number(7), number(8)));
        case "call" -> call();
        case "threads" -> hidden = rank(2);
        case "thread" -> stacks.add(new Stack(cell(1), cell(2), new ArrayList<>(), 0));
        case "at" -> stack().frames.add(cell(1));
        case "cut" -> {
          Stack last = stack();
          stacks.set(stacks.size() - 1, new Stack(last.state, last.name, last.frames, rank(1)));
        }
        case "error" -> throw new IllegalArgumentException("it says: " + cell(1));
        case "end" -> isWhole = true;
        default -> {}
      }
    }

    private Group group() {
      List<Integer> members = null;
      if (!cell(2).equals("*")) {
        members = new ArrayList<>();
        for (String member : cell(2).split(",")) {
          members.add((int) number(member, Integer.MAX_VALUE));
        }
      }
      return new Group(
          cell(1),
          members,
          number(3),
          cell(4).equals("broken"),
          cells.length > 5 ? cell(5) : "",
          null,
          new ArrayList<>());
    }

    private void with(EndedCall last) {
      Group group = ofLine();
      groups.set(
          groups.size() - 1,
          new Group(
              group.id, group.members, group.begun, group.broken, group.detail, last, group.calls));
    }

    private void call() {
      ofLine()
          .calls
          .add(
              new Call(
                  number(2),
                  new Operation(cell(3), cell(4), cell(5), cell(6), number(7)),
                  cell(8),
                  number(9),
                  cell(10).equals("-") ? -1 : rank(10),
                  cells.length > 11 ? cell(11) : ""));
    }

    /** The group whose line came last, which this line must be of. */
    private Group ofLine() {
      if (groups.isEmpty() || !groups.get(groups.size() - 1).id.equals(cell(1))) {
        throw wrong("is not of the group before it");
      }
      return groups.get(groups.size() - 1);
    }

    private Stack stack() {
      if (stacks.isEmpty()) {
        throw wrong("is of no thread");
      }
      return stacks.get(stacks.size() - 1);
    }

    private void next(int index) {
      line = lines[index];
      cells = line.split("\t", -1);
    }

    /** Replaces control characters: a process may say anything, and a terminal must not obey. */
    private String cell(int index) {
      if (index >= cells.length) {
        throw wrong("has " + cells.length + " cells");
      }
      return cells[index].replaceAll("\\p{Cntrl}", " ");
    }

    private int rank(int index) {
      return (int) number(cell(index), Integer.MAX_VALUE);
    }

    private long number(int index) {
      return number(cell(index), Long.MAX_VALUE);
    }

    private long[] numbers(int count) {
      long[] numbers = new long[count];
      for (int i = 0; i < count; i++) {
        numbers[i] = cell(i + 1).equals("-1") ? -1 : number(i + 1);
      }
      return numbers;
    }

    private long number(String digits, long most) {
      try {
        long number = Long.parseLong(digits);
        if (number >= 0 && number <= most) {
          return number;
        }
      } catch (NumberFormatException e) {
        // Said below.
      }
      throw wrong("has '" + shortened(digits) + "' for a number");
    }

    private IllegalArgumentException wrong(String why) {
      return new IllegalArgumentException("the line '" + shortened(line) + "' " + why);
    }

    private static String shortened(String text) {
      String some = text.length() <= 60 ? text : text.substring(0, 60) + "…";
      return some.replaceAll("\\p{Cntrl}", " ");
    }
  }
}
