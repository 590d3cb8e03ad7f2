package io.collectives.engine.run;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.NonFiniteException;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.plan.Chunks;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A call of a collective, as all members of a group make it: what it is, what each of them gives,
 * and what each must get.
 */
final class Operation {
  // Others would make other simulations of the seeds that are kept.
  private static final ElementType[] TYPES = {
    ElementType.FLOAT32,
    ElementType.FLOAT64,
    ElementType.INT32,
    ElementType.INT64,
    ElementType.BFLOAT16,
    ElementType.FLOAT16
  };

  private static final ReduceOp.Standard[] OPS = {
    ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT
  };

  private static final int MOST_ELEMENTS = 48;

  final Collective collective;
  private final int members;
  private final int root;
  private final ElementType type;
  private final ReduceOp.Standard op;
  private final WireType wire;
  private final AddOrder order;
  private final Repeatability repeatability;
  private final int algorithm;

  /** The elements of the whole payload. */
  private final int count;

  /** By member that has or sends, and, if it is pairwise, by member that it is for. */
  private final long @Nullable [][] counts;

  private final boolean inPlace;
  private final boolean checks;

  /** The rank that contributes a number that is not finite; -1 if none does. */
  private final int poisoner;

  private final int poisoned;
  private final long salt;

  /** The number of members that have started it. */
  int starts;

  private Operation(Dice random, int members, Collective collective, int count) {
    this.collective = collective;
    this.members = members;
    this.salt = random.nextLong();
    this.root = collective.rooted() ? random.nextInt(members) : 0;
    this.type = TYPES[random.nextInt(TYPES.length)];
    boolean isInteger = type.isInteger();
    boolean reduces = reduces();
    this.op =
        random.nextBoolean()
            ? ReduceOp.Standard.SUM
            : isInteger
                ? random.any(
                    ReduceOp.Standard.MIN, ReduceOp.Standard.MAX, ReduceOp.Standard.PRODUCT)
                : random.any(OPS);
    boolean adds = op == ReduceOp.Standard.SUM || op == ReduceOp.Standard.AVERAGE;
    WireType wanted = random.nextBoolean() ? WireType.AS_IN_MEMORY : random.any(WireType.values());
    this.wire =
        reduces && type == ElementType.FLOAT32 && (adds || wanted != WireType.INT8)
            ? wanted
            : WireType.AS_IN_MEMORY;
    this.order = reduces ? random.any(AddOrder.values()) : AddOrder.OF_PLAN;
    this.repeatability =
        switch (order) {
          case OF_ARRIVAL -> Repeatability.ARRIVAL_ORDER;
          case OF_PLAN -> Repeatability.FASTEST;
          case OF_RANKS ->
              adds && !isInteger && random.nextBoolean()
                  ? Repeatability.EXACT
                  : Repeatability.RANK_ORDER;
        };
    this.algorithm =
        order == AddOrder.OF_RANKS
            ? random.any(SimulatedPrograms.DIRECT, SimulatedPrograms.EXCHANGE)
            : random.nextInt(SimulatedPrograms.ALGORITHMS);
    this.inPlace = collective == Collective.ALL_REDUCE && random.nextBoolean();
    this.checks = reduces && !isInteger && random.oneIn(4);
    boolean isDealt =
        switch (collective) {
          case REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER -> random.oneIn(3);
          case ALL_TO_ALL -> random.nextBoolean();
          default -> false;
        };
    if (isDealt) {
      boolean isPairwise = collective == Collective.ALL_TO_ALL;
      counts = new long[isPairwise ? members : 1][members];
      int sum = 0;
      for (long[] of : counts) {
        for (int to = 0; to < members; to++) {
          of[to] = random.oneIn(4) ? 0 : random.nextInt(2 * count / members + 1);
          sum += (int) of[to];
        }
      }
      this.count = sum;
    } else {
      counts = null;
      boolean isEven =
          switch (collective) {
            case GATHER, SCATTER, ALL_TO_ALL -> true;
            default -> false;
          };
      this.count = isEven ? count / members * members : count;
    }
    boolean isPoisoned = checks && this.count > 0 && random.nextBoolean();
    this.poisoner = isPoisoned ? random.nextInt(members) : -1;
    this.poisoned = isPoisoned ? random.nextInt(this.count) : -1;
  }

  static Operation of(Dice random, int members) {
    // Half of the calls are those that are made most.
    Collective collective =
        random.nextBoolean()
            ? random.any(Collective.ALL_REDUCE, Collective.BROADCAST, Collective.BARRIER)
            : random.any(Collective.values());
    int count = random.oneIn(8) ? 0 : random.nextInt(random.nextBoolean() ? 8 : MOST_ELEMENTS);
    return new Operation(random, members, collective, count);
  }

  /** A message from the first member of two to the second one. */
  static Operation message(Dice random) {
    Operation message;
    do {
      message = new Operation(random, 2, Collective.BROADCAST, random.nextInt(MOST_ELEMENTS));
    } while (message.root != 0);
    return message;
  }

  static Operation barrier(Dice random, int members) {
    return new Operation(random, members, Collective.BARRIER, 0);
  }

  private boolean reduces() {
    return switch (collective) {
      case ALL_REDUCE, REDUCE, REDUCE_SCATTER -> true;
      default -> false;
    };
  }

  private boolean isPairwise() {
    return collective == Collective.ALL_TO_ALL && counts != null;
  }

  /** Returns whether all members wait for each other. */
  boolean isForAll() {
    return switch (collective) {
      case ALL_REDUCE, BARRIER -> true;
      default -> false;
    };
  }

  /** The memory of one member for it, and the call. */
  final class Made {
    final UserMemory in;
    final UserMemory out;
    final Call call;
    private final int member;

    private Made(UserMemory in, UserMemory out, Call call, int member) {
      this.in = in;
      this.out = out;
      this.call = call;
      this.member = member;
    }

    Operation operation() {
      return Operation.this;
    }

    /**
     * Returns what is wrong with the result of a call that has ended well; nothing if it is right.
     */
    @Nullable String fault() {
      NonFiniteException found = call.nonFinite();
      boolean tells = poisoner >= 0 && (collective != Collective.REDUCE || member == root);
      if ((found != null) != tells) {
        return tells ? "nobody was told of a number that is not finite" : "was told " + found;
      }
      if (found != null
          && (found.worldRank() != call.group().worldRank(poisoner) || found.index() != poisoned)) {
        return "was told " + found + " of element " + poisoned + " of member " + poisoner;
      }
      if (starts < members && isForAll()) {
        return "has ended, though only " + starts + " of " + members + " have come";
      }
      if (!in.isWholeAround() || !out.isWholeAround()) {
        return "wrote beside its memory";
      }
      for (int i = 0; i < in.count && in != out; i++) {
        if (in.bits(i) != input(member, i)) {
          return "changed its input";
        }
      }
      for (int i = 0; i < out.count && gets(member) && poisoner < 0; i++) {
        if (!isRight(member, i, out)) {
          return "element " + i + " is " + out.value(i) + " of bits " + out.bits(i);
        }
      }
      return null;
    }
  }

  /** Starts this member's part. */
  Made start(
      Engine engine,
      Group group,
      SimulatedPrograms programs,
      Dice random,
      boolean leases,
      int frameLength,
      int slabsInFlight,
      long timeoutNanos) {
    int member = group.rank();
    starts++;
    UserMemory in = UserMemory.of(random, type, inputs(member), leases);
    for (int i = 0; i < in.count; i++) {
      in.set(i, input(member, i));
    }
    boolean hasOther = !inPlace && gets(member) && collective != Collective.BROADCAST;
    UserMemory out = hasOther ? UserMemory.of(random, type, outputs(member), leases) : in;
    if (collective == Collective.SCATTER && member != root) {
      in = out;
    }
    long[] own = null;
    long[] theirs = null;
    if (counts != null) {
      own = counts[isPairwise() ? member : 0];
      theirs = isPairwise() ? column(member) : null;
    }
    Program program =
        isPairwise()
            ? programs.pairwise(members, member)
            : programs.of(algorithm, collective, members, member, root, order);
    Call call = engine.call(group, program, slabsInFlight, false);
    if (own != null) {
      call.deal(own, theirs);
    }
    CallOptions options =
        new CallOptions(wire, repeatability, checks, frameLength, slabsInFlight, timeoutNanos);
    call.describe(options, in.memory, out.memory, op, null);
    engine.start(call, timeoutNanos, null);
    return new Made(in, out, call, member);
  }

  private long[] column(int to) {
    return Arrays.stream(counts).mapToLong(row -> row[to]).toArray();
  }

  private boolean gets(int member) {
    return switch (collective) {
      case REDUCE, GATHER -> member == root;
      default -> true;
    };
  }

  private int partStart(int member) {
    if (counts == null) {
      return (int) Chunks.start(count, member, members);
    }
    int start = 0;
    for (int before = 0; before < member; before++) {
      start += (int) counts[0][before];
    }
    return start;
  }

  private int part(int member) {
    return partStart(member + 1) - partStart(member);
  }

  private int inputs(int member) {
    return switch (collective) {
      case ALL_REDUCE, REDUCE, REDUCE_SCATTER, BROADCAST -> count;
      case BARRIER -> 0;
      case ALL_GATHER, GATHER -> part(member);
      case SCATTER -> member == root ? count : part(member);
      case ALL_TO_ALL -> isPairwise() ? (int) Arrays.stream(counts[member]).sum() : count;
    };
  }

  private int outputs(int member) {
    return switch (collective) {
      case ALL_REDUCE, REDUCE, ALL_GATHER, GATHER, BROADCAST -> count;
      case BARRIER -> 0;
      case REDUCE_SCATTER, SCATTER -> part(member);
      case ALL_TO_ALL -> isPairwise() ? (int) Arrays.stream(column(member)).sum() : count;
    };
  }

  /** The bits that a member gives. */
  private long input(int member, int i) {
    if (member == poisoner && i == poisoned) {
      return type.bits(Double.NaN);
    }
    long random = Dice.mix(salt + 1_000L * member + i);
    return switch (type) {
      case INT32 -> (int) random;
      case INT64 -> random;
      default -> type.bits(number(random));
    };
  }

  /** Products of numbers near 1 neither vanish nor overflow; others are eighths. */
  private double number(long random) {
    double sign = (random & 1) == 0 ? 1 : -1;
    return op == ReduceOp.Standard.PRODUCT
        ? sign * (0.5 + (random >>> 11) * 0x1p-53)
        : ((int) (random >>> 11 & 1023) - 512) / 8.0;
  }

  private boolean isRight(int member, int i, UserMemory out) {
    if (reduces()) {
      int element = collective == Collective.REDUCE_SCATTER ? partStart(member) + i : i;
      return isInteger() ? out.bits(i) == integer(element) : isNear(element, out, i);
    }
    return out.bits(i) == moved(member, i);
  }

  private boolean isInteger() {
    return type.isInteger();
  }

  private long integer(int element) {
    long result = input(0, element);
    for (int member = 1; member < members; member++) {
      long more = input(member, element);
      result = op.longs().applyAsLong(result, more);
      result = type == ElementType.INT32 ? (int) result : result;
    }
    return result;
  }

  private boolean isNear(int element, UserMemory out, int i) {
    double result = type.value(input(0, element));
    double magnitude = Math.abs(result);
    for (int member = 1; member < members; member++) {
      double more = type.value(input(member, element));
      result = op.doubles().applyAsDouble(result, more);
      magnitude = op == ReduceOp.Standard.PRODUCT ? Math.abs(result) : magnitude + Math.abs(more);
    }
    if (op == ReduceOp.Standard.AVERAGE) {
      result /= members;
      magnitude /= members;
    }
    if (repeatability == Repeatability.EXACT
        && op == ReduceOp.Standard.SUM
        && wire == WireType.AS_IN_MEMORY) {
      // Sums of eighths are exact in double, so this is rounded once.
      return out.value(i) == type.value(type.bits(result));
    }
    double epsilon =
        switch (wire) {
          case AS_IN_MEMORY ->
              switch (type) {
                case FLOAT64 -> 0x1p-52;
                case BFLOAT16 -> 0x1p-8;
                case FLOAT16 -> 0x1p-11;
                default -> 0x1p-23;
              };
          case BFLOAT16 -> 0x1p-8;
          case FLOAT16 -> 0x1p-11;
          case INT8 -> 0x1p-7;
        };
    if (wire == WireType.INT8) {
      magnitude = 64 * members; // A block has one scale.
    }
    return Math.abs(out.value(i) - result) <= (members + 2) * epsilon * magnitude;
  }

  /** The bits that come to a place of a member's output from somewhere, as they are. */
  private long moved(int member, int i) {
    return switch (collective) {
      case BROADCAST -> input(root, i);
      case SCATTER -> input(root, partStart(member) + i);
      case ALL_GATHER, GATHER -> {
        int from = 0;
        while (i >= partStart(from + 1)) {
          from++;
        }
        yield input(from, i - partStart(from));
      }
      case ALL_TO_ALL -> {
        int from = 0;
        int at = i;
        while (at >= block(from, member)) {
          at -= block(from, member);
          from++;
        }
        for (int before = 0; before < member; before++) {
          at += block(from, before);
        }
        yield input(from, at);
      }
      default -> throw new IllegalStateException(this + " moves nothing");
    };
  }

  private int block(int from, int to) {
    return isPairwise() ? (int) counts[from][to] : count / members;
  }

  @Override
  public String toString() {
    return collective
        + (collective.rooted() ? " of root " + root : "")
        + " of "
        + count
        + " "
        + type
        + (reduces() ? ", " + op + " " + order + " " + repeatability + " as " + wire : "")
        + (counts == null ? "" : ", counts " + Arrays.deepToString(counts))
        + (poisoner < 0 ? "" : ", element " + poisoned + " of member " + poisoner + " is NaN")
        + (isPairwise() ? "" : " (" + SimulatedPrograms.algorithm(algorithm, members).name() + ")");
  }
}
