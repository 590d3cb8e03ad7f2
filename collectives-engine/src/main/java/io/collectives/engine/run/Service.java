package io.collectives.engine.run;

import io.collectives.CollectiveException;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.Residuals;
import io.collectives.UserOp;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.ShapeMemory;
import io.collectives.internal.CallFingerprint;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A rank that contributes nothing, and enters the all-reduces of a group as they come: the first
 * frame of a call that it has not entered tells what the payload is like. All else is as if it had
 * made the call itself, the comparison with the frames of the others included; but between calls it
 * waits for nobody, so no deadline runs.
 *
 * <p>It ends well when all contributors have left, and with the error of the group when that
 * breaks. Ranks that serve the same contributors together, as proxies of one server do, tell each
 * other who has left. A contributor that is lost breaks the group, even between calls, and so does
 * another rank that serves, if this one speaks with it: it would have told that it leaves.
 */
public final class Service {
  private static final ElementType[] TYPES = ElementType.values();
  private static final ReduceOp[] OPS = ReduceOp.Standard.values();
  private static final Repeatability[] LEVELS = Repeatability.values();

  final Group group;
  private final Program program;
  private final Programs programs;
  private final List<UserOp> userOps;

  /** Calls that have not been recycled. */
  final List<Call> calls = new ArrayList<>();

  /** The amounts that rounding takes from the sums of buffers that have a number. */
  final Residuals residuals = new Residuals();

  private final Call.Completion completion;

  /** By rank: whether the others that serve have been told that it left. */
  private final boolean[] passedOn;

  /** The shapes of the last payloads, because most come again. */
  private final @Nullable ShapeMemory[] shapes = new ShapeMemory[64];

  private int nextShape;

  private final CallOptions options;

  /** By what a call may ask for itself. */
  private final @Nullable CallOptions[] optionsByKind = new CallOptions[2 * LEVELS.length];

  private @Nullable CollectiveException error;

  /** A rank's part of the all-reduces that it serves. */
  public interface Programs {
    /**
     * Returns the program of a reduction; called by the driver.
     *
     * @throws IllegalArgumentException if there is none such
     */
    Program of(ReduceOp op, ElementType type, Repeatability repeatability);
  }

  Service(
      Group group,
      Program program,
      Programs programs,
      List<UserOp> userOps,
      CallOptions options,
      Call.Completion completion) {
    this.group = group;
    this.program = program;
    this.programs = programs;
    this.userOps = userOps;
    this.options = options;
    this.completion = completion;
    this.passedOn = new boolean[group.size()];
  }

  /**
   * The payload of a call of other ranks.
   *
   * @throws IllegalArgumentException if there can be none such
   */
  Memory shape(long[] call) {
    int type = CallFingerprint.type(call);
    long count = CallFingerprint.count(call);
    if (type >= TYPES.length || count < 0) {
      throw new IllegalArgumentException(
          "a call that cannot be: " + CallFingerprint.describe(call));
    }
    for (ShapeMemory shape : shapes) {
      if (shape != null && shape.type() == TYPES[type] && shape.count() == count) {
        return shape;
      }
    }
    ShapeMemory made = new ShapeMemory(TYPES[type], count);
    shapes[nextShape++ % shapes.length] = made;
    return made;
  }

  /**
   * The options of a call of other ranks.
   *
   * @throws IllegalArgumentException if there can be none such
   */
  CallOptions options(long[] call) {
    Repeatability repeatability = repeatability(call);
    boolean finiteCheck = CallFingerprint.isChecked(call);
    int kind = 2 * repeatability.ordinal() + (finiteCheck ? 1 : 0);
    CallOptions made = optionsByKind[kind];
    if (made == null) {
      made =
          new CallOptions(
              options.wireType(),
              repeatability,
              finiteCheck,
              options.frameLength(),
              options.slabsInFlight(),
              options.timeoutNanos());
      optionsByKind[kind] = made;
    }
    return made;
  }

  /**
   * The operation of a call of other ranks.
   *
   * @throws IllegalArgumentException if this rank cannot do it
   */
  ReduceOp op(long[] call) {
    int op = CallFingerprint.op(call);
    if (op < OPS.length) {
      return OPS[op];
    }
    for (int i = 0; i < userOps.size(); i++) {
      if (CallFingerprint.isBy(call, userOps.get(i))) {
        return userOps.get(i);
      }
    }
    throw new IllegalArgumentException(
        CallFingerprint.describe(call)
            + ": a rank that only serves does sum, average, min, max, product"
            + (userOps.isEmpty() ? "" : " and " + userOps)
            + "; give it the op by Communicator.serve(op)");
  }

  /**
   * Returns the repeatability of a call of other ranks, on which its bits may depend.
   *
   * @throws IllegalArgumentException if there is no such level
   */
  static Repeatability repeatability(long[] call) {
    int level = CallFingerprint.repeatability(call);
    if (level >= LEVELS.length) {
      throw new IllegalArgumentException(
          "a call that cannot be: " + CallFingerprint.describe(call));
    }
    return LEVELS[level];
  }

  /**
   * This rank's part of a call of other ranks.
   *
   * @throws IllegalArgumentException if it has none
   */
  Program program(ReduceOp op, Memory shape, long[] call) {
    return programs.of(op, shape.type(), repeatability(call));
  }

  /**
   * Returns whether all contributors of whom this rank would hear have said that they take no part
   * any more: its own, and those of the other ranks that serve and that it speaks with.
   */
  boolean isNeedless() {
    for (int member : program.served) {
      if (!group.left[member]) {
        return false;
      }
    }
    return true;
  }

  /**
   * Tells the other ranks that serve who of this rank's contributors has left; they do not hear.
   */
  void passOnWhoLeft(Notices notices) {
    if (group.gone.isEmpty()) {
      return;
    }
    for (int member : program.peers) {
      if (member < program.contributors && group.left[member] && !passedOn[member]) {
        passedOn[member] = true;
        for (int other : program.peers) {
          if (other >= program.contributors) {
            notices.passOnThatLeft(group, other, member);
          }
        }
      }
    }
  }

  /** Why one is lost that this rank speaks with and that has not left, nothing if there is none. */
  @Nullable Failure loss() {
    if (!group.gone.isEmpty()) {
      for (int member : program.peers) {
        if (!group.left[member] && group.gone.containsKey(member)) {
          return group.gone.get(member);
        }
      }
    }
    return null;
  }

  void end(@Nullable Failure why) {
    error = why == null ? null : why.exception();
  }

  /** Tells how the service ended. To be called once. */
  public void runCompletion() {
    completion.ended(error);
  }
}
