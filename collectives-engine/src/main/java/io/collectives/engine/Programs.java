package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.Explanation;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.engine.choice.AlgorithmTable;
import io.collectives.engine.choice.BufferRows;
import io.collectives.engine.choice.Chooser;
import io.collectives.engine.memory.Kernels;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.engine.run.AddOrder;
import io.collectives.engine.run.ExchangeBuffers;
import io.collectives.engine.run.Program;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Which program a call of a group is made by, as its settings say. Any thread may ask. */
final class Programs {
  private final GroupContext context;
  private final CallSettings settings;

  /** The program of a barrier if it needs no frames. */
  private final @Nullable Program inlineBarrier;

  /** The one of the settings; nothing if it is chosen for each call. */
  private final @Nullable Algorithm fixed;

  /** Another object once the group is known better. Any thread may fill it in. */
  private volatile Choices choices;

  /**
   * Programs in use. A lookup here allocates nothing, while one in the group context makes a key.
   *
   * @param chooser nothing if there is one algorithm
   * @param once for reductions that should be done once, and not at each rank; nothing if these
   *     ones are
   * @param programs by order and choice, collective and root; any thread may fill it in, with the
   *     same values
   */
  private record Choices(
      GroupContext.Known known,
      @Nullable Chooser chooser,
      @Nullable Choices once,
      @Nullable Program[][] @Nullable [] programs) {
    Choices(GroupContext.Known known, @Nullable Chooser chooser, @Nullable Choices once) {
      this(known, chooser, once, table(chooser == null ? 1 : chooser.choices()));
    }

    private static @Nullable Program[][] @Nullable [] table(int choices) {
      return new Program[AddOrder.values().length * choices][Collective.values().length][];
    }
  }

  /**
   * Makes the programs of a group.
   *
   * @throws IllegalArgumentException if the algorithm of the settings does not fit the group
   */
  Programs(GroupContext context, CallSettings settings) {
    this.context = context;
    this.settings = settings;
    boolean isAuto = settings.algorithm() instanceof Algorithm.Auto;
    this.fixed = isAuto ? null : context.resolved(settings.algorithm());
    this.choices = choices(context.known());
    if (!isAuto) {
      // An algorithm that does not fit is an error now.
      of(Collective.ALL_REDUCE, 0, 0, Order.of(settings.repeatability()));
    }
    this.inlineBarrier =
        context.group.inlineChannel() != null && speaksWithAll(settings.algorithm())
            ? context.program(Algorithm.exchange(), Collective.BARRIER, 0, AddOrder.OF_PLAN)
            : null;
  }

  private Choices choices(GroupContext.Known known) {
    if (fixed != null) {
      return new Choices(known, null, null);
    }
    boolean needsFrames =
        settings.wireType() != WireType.AS_IN_MEMORY
            || settings.finiteCheck()
            || settings.frameLength() < ExchangeBuffers.LONGEST_EXCHANGE;
    if (needsFrames) {
      return new Choices(known, chooser(known, BufferRows.NONE), null);
    }
    Choices once = new Choices(known, chooser(known, BufferRows.REDUCING_ONCE), null);
    return settings.repeatability() == Repeatability.EXACT
        ? once
        : new Choices(known, chooser(known, BufferRows.ALL), once);
  }

  private Chooser chooser(GroupContext.Known known, BufferRows buffers) {
    return context.chooser(settings.algorithm(), known, buffers);
  }

  /**
   * Returns whether all ranks are peers of each other, so that a barrier by exchange needs no more
   * links.
   */
  private static boolean speaksWithAll(Algorithm algorithm) {
    return algorithm instanceof Algorithm.Auto
        || algorithm.equals(Algorithm.exchange())
        || algorithm.equals(Algorithm.direct());
  }

  /** Returns the program of a barrier. */
  Program barrier() {
    return inlineBarrier != null ? inlineBarrier : of(Collective.BARRIER, 0, 0);
  }

  /** This rank's part of an all-reduce of so many elements. */
  Program allReduce(ElementType type, long count, ReduceOp op) {
    long bytes = count * type.bytes();
    if (type == ElementType.FLOAT32) {
      bytes = crossing(bytes, settings.wireType());
    }
    return reduction(Collective.ALL_REDUCE, 0, bytes, type, op);
  }

  /** A program for an all-reduce in which each contribution goes into one sum. */
  Program sendingOnce(Program program) {
    if (!program.hasSeveralOwners()) {
      return program;
    }
    if (fixed != null) {
      throw new IllegalArgumentException(
          "a residual with the algorithm \""
              + program.algorithm().name()
              + "\", in which several ranks take the same sum: use Algorithm.direct() or another in"
              + " which one rank does");
    }
    AddOrder order = Order.of(settings.repeatability());
    return context.program(Algorithm.direct(), Collective.ALL_REDUCE, 0, order);
  }

  /**
   * Returns the program by which a rank that contributes nothing serves all-reduces, if this is
   * such a rank.
   */
  Program served() {
    return of(Collective.ALL_REDUCE, 0, 0, AddOrder.OF_PLAN);
  }

  /** That by which it serves a reduction. */
  Program served(ReduceOp op, ElementType type, Repeatability repeatability) {
    return of(Collective.ALL_REDUCE, 0, 0, Order.of(op, type, repeatability));
  }

  /**
   * Returns the program of an all-to-all in which each pair of ranks agrees on a length of its own.
   */
  Program pairwise() {
    return context.pairwise(fixed == null ? Algorithm.exchange() : fixed);
  }

  /**
   * This rank's part of a collective.
   *
   * @param bytes the length of the payload, which all ranks know; else anything
   */
  Program of(Collective collective, int root, long bytes) {
    return of(collective, root, bytes, AddOrder.OF_PLAN);
  }

  /** Returns the program of a collective that reduces, in the order that it needs. */
  Program reduction(Collective collective, int root, long bytes, ElementType type, ReduceOp op) {
    Choices now = current();
    // To convert short elements, or to call a user's op, takes longer than to pass on a sum.
    boolean isDear = type.bytes() < Integer.BYTES || !(op instanceof ReduceOp.Standard);
    Choices from = isDear && now.once != null ? now.once : now;
    return of(from, collective, root, bytes, Order.of(op, type, settings.repeatability()));
  }

  private Program of(Collective collective, int root, long bytes, AddOrder order) {
    return of(current(), collective, root, bytes, order);
  }

  private Program of(Choices now, Collective collective, int root, long bytes, AddOrder order) {
    Shapes.root(root, context.group.size());
    Chooser chooser = now.chooser;
    Algorithm algorithm = fixed;
    int kind = order.ordinal();
    if (chooser != null) {
      Chooser.Choice choice = chooser.choose(collective, bytes, order == AddOrder.OF_RANKS);
      algorithm = choice.algorithm();
      kind = order.ordinal() * chooser.choices() + choice.index();
    }
    Program[] byRoot = now.programs[kind][collective.ordinal()];
    if (byRoot == null) {
      byRoot = new Program[context.group.size()];
      now.programs[kind][collective.ordinal()] = byRoot;
    }
    Program program = byRoot[root];
    if (program == null) {
      program =
          fitting(context.program(Objects.requireNonNull(algorithm), collective, root, order));
      byRoot[root] = program;
    }
    return program;
  }

  private Choices current() {
    Choices now = choices;
    GroupContext.Known known = context.known();
    if (now.known != known && fixed == null) {
      now = choices(known);
      choices = now;
    }
    return now;
  }

  /** About how many bytes cross the links for so many bytes of float32 elements in memory. */
  private static long crossing(long bytes, WireType wire) {
    return switch (wire) {
      case AS_IN_MEMORY -> bytes;
      case BFLOAT16, FLOAT16 -> bytes / 2;
      case INT8 -> bytes / 4;
    };
  }

  /** See {@link io.collectives.Communicator#explain}: of a view that has another algorithm, too. */
  Explanation explain(long bytes) {
    WireType wire = settings.wireType();
    GroupContext.Known known = context.known();
    Chooser chooser = current().chooser;
    if (chooser == null) {
      chooser = chooser(known, BufferRows.ALL);
    }
    boolean inOrder = settings.repeatability().needsAllAtOnce();
    Chooser.Choice choice = chooser.choose(Collective.ALL_REDUCE, crossing(bytes, wire), inOrder);
    AlgorithmTable.Row row = choice.row();
    return new Explanation(
        bytes,
        context.group.size(),
        choice.algorithm(),
        new Explanation.Reason(
            settings.algorithm(),
            row == null ? "none" : row.toString(),
            row == null ? "no table has a row that fits" : row.source()),
        new Explanation.Cost(
            wire,
            sentBytes(choice.algorithm(), bytes, settings.frameLength()),
            settings.frameLength(),
            context.driver.memoryLimit(),
            Kernels.describe()),
        known.tuned() != null,
        context.driver.transports());
  }

  private Program fitting(Program program) {
    int shortest = program.widestTransfer() * Long.BYTES;
    if (settings.frameLength() < shortest) {
      throw new IllegalArgumentException(
          "frame length "
              + settings.frameLength()
              + ": "
              + program.collective()
              + " by the algorithm \""
              + program.algorithm().name()
              + "\" for "
              + context.group.size()
              + " ranks sends "
              + program.widestTransfer()
              + " chunks at once, which takes at least "
              + shortest
              + " bytes");
    }
    return program;
  }

  /** Returns the bytes that this rank sends in an all-reduce of so many bytes of float32. */
  private long sentBytes(Algorithm algorithm, long bytes, int frameLength) {
    AddOrder order = Order.of(settings.repeatability());
    return fitting(context.program(algorithm, Collective.ALL_REDUCE, 0, order))
        .sentBytes(
            bytes / Float.BYTES,
            ElementType.FLOAT32,
            NarrowWire.of(settings.wireType()),
            frameLength);
  }
}
