package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.engine.run.AddOrder;
import io.collectives.engine.run.Program;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Which program a call of a group is made by, as its settings say. Any thread may ask. */
final class Programs {
  private final Seat seat;
  private final CallSettings settings;

  /** That of a barrier if it needs no frames. */
  private final @Nullable Program mailedBarrier;

  /** The one of the settings, or those that are chosen from. */
  private final List<Algorithm> algorithms;

  /**
   * Programs in use, by order and algorithm, collective and root. Those of the seat are found by a
   * key, which is an allocation. Any thread may fill it in, with the same values.
   */
  private final Program @Nullable [][] @Nullable [] programs;

  /**
   * Those for a seat.
   *
   * @throws IllegalArgumentException if the algorithm of the settings does not fit the group
   */
  Programs(Seat seat, CallSettings settings) {
    this.seat = seat;
    this.settings = settings;
    this.algorithms =
        settings.algorithm() instanceof Algorithm.Auto
            ? Chooser.candidates(seat.group.size())
            : List.of(seat.resolved(settings.algorithm()));
    this.programs =
        new Program[AddOrder.values().length * algorithms.size()][Collective.values().length][];
    // An algorithm that does not fit is an error now.
    of(0, Collective.ALL_REDUCE, 0, Order.of(settings.repeatability()));
    this.mailedBarrier =
        seat.group.usesMail() && speaksWithAll(settings.algorithm())
            ? seat.program(Algorithm.exchange(), Collective.BARRIER, 0, AddOrder.OF_PLAN)
            : null;
  }

  /**
   * Whether all ranks are peers of each other, so that a barrier by exchange needs no more links.
   */
  private static boolean speaksWithAll(Algorithm algorithm) {
    return algorithm instanceof Algorithm.Auto
        || algorithm.equals(Algorithm.exchange())
        || algorithm.equals(Algorithm.direct());
  }

  /** That of a barrier. */
  Program barrier() {
    return mailedBarrier != null ? mailedBarrier : of(Collective.BARRIER, 0, 0);
  }

  /** This rank's part of an all-reduce of a memory. */
  Program allReduce(Memory memory, ReduceOp op) {
    long bytes = memory.count() * memory.type().bytes();
    if (memory.type() == ElementType.FLOAT32) {
      bytes = Chooser.crossing(bytes, settings.wireType());
    }
    return reduction(Collective.ALL_REDUCE, 0, bytes, memory.type(), op);
  }

  /** A program for an all-reduce in which each contribution goes into one sum. */
  Program sendingOnce(Program program) {
    if (!program.hasSeveralOwners()) {
      return program;
    }
    if (algorithms.size() == 1) {
      throw new IllegalArgumentException(
          "a residual with the algorithm \""
              + program.algorithm().name()
              + "\", in which several ranks take the same sum: use Algorithm.direct() or another in"
              + " which one rank does");
    }
    return of(Chooser.DIRECT, Collective.ALL_REDUCE, 0, Order.of(settings.repeatability()));
  }

  /** One by which a rank that contributes nothing serves all-reduces, if this one is such. */
  Program served() {
    return of(0, Collective.ALL_REDUCE, 0, AddOrder.OF_PLAN);
  }

  /** That by which it serves a reduction. */
  Program served(ReduceOp op, ElementType type, Repeatability repeatability) {
    return of(0, Collective.ALL_REDUCE, 0, Order.of(op, type, repeatability));
  }

  /** That of an all-to-all in which each pair of ranks agrees on a length of its own. */
  Program pairwise() {
    return seat.pairwise(algorithms.get(0));
  }

  /**
   * This rank's part of a collective.
   *
   * @param bytes the length of the payload, which all ranks know; else anything
   */
  Program of(Collective collective, int root, long bytes) {
    int algorithm = algorithms.size() == 1 ? 0 : seat.chooser().choose(collective, bytes);
    return of(algorithm, collective, root, AddOrder.OF_PLAN);
  }

  /** The same of a collective that reduces, in the order that it needs. */
  Program reduction(Collective collective, int root, long bytes, ElementType type, ReduceOp op) {
    AddOrder order = Order.of(op, type, settings.repeatability());
    int algorithm = 0;
    if (algorithms.size() > 1) {
      algorithm =
          order == AddOrder.OF_RANKS
              ? seat.chooser().chooseInOrder(collective, bytes)
              : seat.chooser().choose(collective, bytes);
    }
    return of(algorithm, collective, root, order);
  }

  private Program of(int algorithm, Collective collective, int root, AddOrder order) {
    Shapes.root(root, seat.group.size());
    int kind = order.ordinal() * algorithms.size() + algorithm;
    Program[] byRoot = programs[kind][collective.ordinal()];
    if (byRoot == null) {
      byRoot = new Program[seat.group.size()];
      programs[kind][collective.ordinal()] = byRoot;
    }
    Program program = byRoot[root];
    if (program == null) {
      program = fitting(seat.program(algorithms.get(algorithm), collective, root, order));
      byRoot[root] = program;
    }
    return program;
  }

  /** How long the frames of a call are. */
  int frameLength(Program program, long bytes) {
    int length = settings.frameLength();
    boolean chosen = algorithms.size() > 1 && program.collective() == Collective.ALL_REDUCE;
    return chosen ? seat.chooser().frames().length(length, bytes) : length;
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
              + seat.group.size()
              + " ranks sends "
              + program.widestTransfer()
              + " chunks at once, which takes at least "
              + shortest
              + " bytes");
    }
    return program;
  }

  /** What this rank sends in an all-reduce of so many bytes of float32. */
  long sentBytes(Algorithm algorithm, long bytes, int frameLength) {
    AddOrder order = Order.of(settings.repeatability());
    return fitting(seat.program(algorithm, Collective.ALL_REDUCE, 0, order))
        .sentBytes(
            bytes / Float.BYTES,
            ElementType.FLOAT32,
            NarrowWire.of(settings.wireType()),
            frameLength);
  }
}
