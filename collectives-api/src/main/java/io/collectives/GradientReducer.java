package io.collectives;

import io.collectives.internal.DrivenByWaiters;
import io.collectives.internal.Extents;
import io.collectives.internal.FusionRule;
import io.collectives.internal.StepListener;
import io.collectives.internal.Traceable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Sums the gradients of all ranks while the backward pass still computes more of them.
 *
 * <pre>{@code
 * try (GradientReducer reducer = GradientReducer.of(world, FusionSettings.defaults())) {
 *   Tensor weight = reducer.register("weight", Payload.of(weightGradients)); // once
 *   Tensor bias = reducer.register("bias", Payload.of(biasGradients));
 *   for (...) {
 *     ...                    // backward pass; whenever a gradient is ready, in any order:
 *     reducer.ready(bias);
 *     reducer.ready(weight);
 *     reducer.await();       // all gradients are the averages now
 *     ...                    // update the parameters
 *   }
 * }
 * }</pre>
 *
 * <p><b>Fusion buffers.</b> Small tensors are cheaper to reduce together. In the first step rank 0
 * records the order in which its tensors become ready, and {@link #await} sends it to all ranks;
 * from then on every rank knows which tensors make up which buffer, and nothing has to be
 * negotiated (Thangakrishnan et al. 2020, <em>Herring</em>, section III-2). A buffer is a
 * {@linkplain Payload#of(List) payload of parts}: it is reduced in place, and fusing copies
 * nothing. All tensors of a buffer are of one type; a tensor that is longer than a buffer has one
 * of its own. In the first step nothing is reduced before {@link #await}.
 *
 * <p><b>Balanced buffers.</b> With {@link FusionSettings#balanced()} tensors are cut at the borders
 * of buffers, so that all buffers of a type have the same length but the last (the paper's section
 * III-1): then the servers share the work of a long tensor, and a buffer that holds a part of it is
 * reduced as soon as that part and the rest of the buffer are ready. {@link #explain()} says how
 * their length was chosen.
 *
 * <p><b>Order.</b> Tensors may become ready in different orders on different ranks and in different
 * steps. A buffer whose tensors are all ready is reduced at once, unless the buffer before it in
 * its <em>lane</em> is not reduced yet: buffer i is in lane {@code i % lanes}, each lane is a group
 * of its own, and reduces its buffers in order, one at a time. This cannot deadlock: consider the
 * first buffer of a lane that some rank has not reduced yet. All ranks have reduced the buffers
 * before it, so each rank starts to reduce it as soon as its own backward pass has made it ready,
 * whatever happens in other lanes. One lane is the strict order of PyTorch's data-parallel
 * training; a lane for each buffer, of which there are 64 at most, is Herring's arbitrary order, at
 * the price of as many groups and calls under way. Two lanes, the default, let a buffer overtake
 * the one before it, and a new one begin while another ends.
 *
 * <p><b>Errors.</b> The first error ends the reducer on all ranks: reductions under way end, and
 * every rank gets the same {@link CollectiveException}, from the method that it is in or calls
 * next. A tensor that is not ready at {@link #await}, that is made ready twice in a step, or whose
 * new memory has another type or size, is an {@link AbortedException} that names the tensor and the
 * rank; tensors that differ from those of rank 0 are a {@link MismatchException} in the first step.
 * These checks send no message as long as no error occurs: the rank that finds a mistake aborts the
 * groups in which the others wait. So an error may reach a rank that is still at the end of the
 * step before, and a rank that has finished the step already gets it in the next one.
 *
 * <p><b>After a failure.</b> An error of the reducer does not break the group that it was made of.
 * If a rank has failed, {@linkplain Communicator#shrink() shrink} that group; then {@link #on}
 * makes a reducer for the new group, with the same tensors and order. The contents of a tensor are
 * undefined after a failed step, because it is reduced in place: compute the gradients again. Some
 * ranks may have finished the step in which others failed: {@link #completedSteps()} tells them
 * apart, and an all-reduce of this number by {@link ReduceOp#MIN} gives the step from which all
 * ranks go on; a rank that is ahead repeats one step.
 *
 * <p><b>Loss scaling.</b> If its group {@linkplain Communicator#checkingFinite() checks} its
 * numbers, a reducer reports after each step whether all gradients are finite. All ranks get the
 * same answer without an additional message. A gradient that is not finite is no error here, and
 * the step counts:
 *
 * <pre>{@code
 * GradientReducer reducer = GradientReducer.of(world.checkingFinite(), settings);
 * ...
 *   reducer.await();
 *   if (reducer.nonFinite().isPresent()) {
 *     scale /= 2;            // and no update, on all ranks
 *   } else {
 *     ...                    // update the parameters with the gradients divided by the scale
 *   }
 * }</pre>
 *
 * <p><b>Memory.</b> A reducer holds no gradients, only descriptions: some 200 bytes for each
 * tensor; with the wire type {@code int8} the reduction by all-reduces also keeps {@linkplain
 * BufferReduction#allReduce the rounding errors}. {@link #toString()} contains the length of the
 * buffers. A step allocates some hundred bytes for each buffer, for the handles of its calls;
 * {@link #ready} allocates nothing.
 *
 * <p><b>Threads.</b> {@link #ready} and {@link #unused} may be called by several threads of a
 * backward pass at once; all of these calls must be over before {@link #await} is called. Tensors
 * that are ready belong to the library until {@link #await} returns, or {@link #isReduced} is true.
 *
 * <p>One class because its lock guards one state: which tensors are ready, which buffers are under
 * way, and the first error.
 */
public final class GradientReducer implements AutoCloseable {
  private static final byte WAITING = 0;
  private static final byte READY = 1;
  private static final byte UNUSED = 2;
  private static final int NAMED = 3;
  private static final FusionBuffer[] NO_BUFFERS = {};

  private final Communicator group;
  private final FusionSettings settings;
  private final BufferReduction reduction;

  /** The group for all messages other than buffers; its calls have the same order on all ranks. */
  private final Communicator control;

  /**
   * The first call of {@link #control}, which all ranks make at once: a rank that has never
   * exchanged a message in a group could not tell the others why it leaves.
   */
  private final CollectiveHandle firstCall;

  private final ReentrantLock lock = new ReentrantLock();
  private final List<Tensor> tensors = new ArrayList<>();

  /** The memory of the tensors, until the first step begins. */
  private Extents memory = new Extents();

  /** The state of each tensor in this step. */
  private byte[] states = new byte[0];

  /** The number of tensors that are {@link #WAITING}. */
  private int waiting;

  /** The tensors in the order in which they became ready, until there is a layout. */
  private int[] arrivals = new int[0];

  private int arrived;

  /**
   * The order of the reducer that this one follows, until there is a layout; null if there is none.
   */
  private int @Nullable [] knownOrder;

  /** The buffers; null before the first step ends. */
  private @Nullable FusionLayout layout;

  /** The first buffer of each lane that is not reduced in this step. */
  private int[] next = new int[0];

  private boolean begun;

  /** The number of ranks that contribute to this step, -1 if it is not known yet. */
  private int contributors;

  private int lastContributors;
  private Optional<NonFiniteGradient> lastNonFinite = Optional.empty();
  private final int[] counted = new int[1];
  private final Payload countedPayload = Payload.of(counted);
  private @Nullable CollectiveHandle count;
  private int[] users = new int[0];
  private Payload usersPayload = Payload.of(users);
  private final StepClock clock = new StepClock();
  private final @Nullable StepListener listener;

  /** By what number the listener knows this reducer and those that follow it. */
  private int number = -1;

  private long completedSteps;
  private volatile @Nullable CollectiveException error;
  private boolean isErrorTold;

  private GradientReducer(
      Communicator group, FusionSettings settings, BufferReduction reduction, List<Tensor> known) {
    this.group = group;
    this.settings = settings;
    this.reduction = reduction;
    this.control = AllReduceLanes.sameRanks(group);
    this.firstCall = control.async().barrier();
    this.contributors = settings.uneven() ? -1 : group.size();
    this.listener = group instanceof StepListener.Source source ? source.stepListener() : null;
    known.forEach(this::add);
  }

  /**
   * Makes a reducer by all-reduces in two lanes.
   *
   * @param group the ranks that compute gradients; all of them call this, in the same order as they
   *     make other groups of it, and within the time limit of its calls. The reducer has groups of
   *     its own, with the settings of this one, so that other calls need no order among the
   *     reducer's
   */
  public static GradientReducer of(Communicator group, FusionSettings settings) {
    return of(group, settings, BufferReduction.allReduce(group, FusionRule.LANES));
  }

  /**
   * Makes a reducer whose buffers are reduced by the given operation.
   *
   * @param group as in {@link #of(Communicator, FusionSettings)}
   * @param reduction an operation of the ranks of the group; it is closed with the reducer
   */
  public static GradientReducer of(
      Communicator group, FusionSettings settings, BufferReduction reduction) {
    Objects.requireNonNull(settings, "settings");
    GradientReducer made = new GradientReducer(group, settings, reduction, List.of());
    if (made.listener != null) {
      made.number = made.listener.reducerMade();
    }
    return made;
  }

  /** A tensor of gradients that is registered with a reducer and with those that follow it. */
  public static final class Tensor {
    final int index;
    final String name;
    Payload payload;

    private Tensor(int index, String name, Payload payload) {
      this.index = index;
      this.name = name;
      this.payload = payload;
    }

    /** Returns the name under which it was registered. */
    public String name() {
      return name;
    }

    String shape() {
      return payload.count() + " elements of " + payload.type();
    }

    @Override
    public String toString() {
      return "\"" + name + "\"";
    }
  }

  /**
   * Registers a tensor. All ranks register the same tensors in the same order, before the first
   * step.
   *
   * @param name the name in errors and layouts, of one line
   * @param gradients the memory to read and write in each step, of any kind on each rank. It is of
   *     one type; other tensors may be of other types
   * @throws IllegalArgumentException also if the memory overlaps that of another tensor, which is
   *     reduced in place, too
   */
  public Tensor register(String name, Payload gradients) {
    if (name.indexOf('\n') >= 0) {
      throw new IllegalArgumentException("a tensor's name of several lines: must be one line");
    }
    checkType(name, Objects.requireNonNull(gradients, "gradients"));
    lock();
    try {
      if (begun || knownOrder != null) {
        throw new IllegalStateException(
            "tensor \"" + name + "\" after the first step has begun: register all tensors before");
      }
      memory.add("tensor \"" + name + "\"", gradients);
      Tensor tensor = new Tensor(tensors.size(), name, gradients);
      add(tensor);
      return tensor;
    } finally {
      unlock();
    }
  }

  private static void checkType(String name, Payload gradients) {
    if (gradients instanceof Payload.OfTensors several) {
      throw new IllegalArgumentException(
          "tensor \""
              + name
              + "\" of "
              + several.types()
              + " elements: a tensor has one type; register those of each type by themselves");
    }
  }

  private void add(Tensor tensor) {
    tensors.add(tensor);
    waiting = tensors.size();
    states = new byte[waiting];
    arrivals = new int[waiting];
  }

  /**
   * Declares that the gradients of a tensor are ready.
   *
   * @throws CollectiveException if the tensor was ready before in this step, or the reducer has
   *     ended
   */
  public void ready(Tensor tensor) {
    settle(tensor, READY, null);
  }

  /**
   * Declares, as {@link #ready(Tensor)} does, that the gradients of a tensor are ready, and that
   * they lie in other memory from now on. Avoid this where possible, because the description of the
   * buffer is made again.
   *
   * @param gradients the new memory, of the tensor's type and count
   */
  public void ready(Tensor tensor, Payload gradients) {
    checkType(tensor.name, Objects.requireNonNull(gradients, "gradients"));
    settle(tensor, READY, gradients);
  }

  /**
   * Declares that a tensor has no gradients on this rank in this step: it contributes zeros, which
   * are written to its memory.
   *
   * @throws CollectiveException if the tensor is ready already, or the reducer has ended
   */
  public void unused(Tensor tensor) {
    settle(tensor, UNUSED, null);
  }

  private void settle(Tensor tensor, byte how, @Nullable Payload moved) {
    lock();
    try {
      check(tensor);
      begin(1);
      if (error == null) {
        String mistake = mistake(tensor, moved);
        if (mistake == null) {
          move(tensor, moved);
          settle(tensor, how);
        } else {
          fail(mistake);
        }
      }
    } finally {
      unlock();
    }
    throwError();
  }

  private @Nullable String mistake(Tensor tensor, @Nullable Payload moved) {
    if (states[tensor.index] != WAITING) {
      return "tensor " + tensor + " became ready twice; say so once in a step";
    }
    if (moved != null
        && (moved.type() != tensor.payload.type() || moved.count() != tensor.payload.count())) {
      return "tensor "
          + tensor
          + " was registered with "
          + tensor.shape()
          + ", but became ready with "
          + moved.count()
          + " of "
          + moved.type()
          + "; a tensor keeps its type and count";
    }
    return null;
  }

  private void move(Tensor tensor, @Nullable Payload moved) {
    if (moved != null && moved != tensor.payload) {
      tensor.payload = moved;
      if (layout != null) {
        for (FusionBuffer buffer : layout.of(tensor)) {
          buffer.isMoved = true;
        }
      }
    }
  }

  private void settle(Tensor tensor, byte how) {
    if (how == UNUSED) {
      InPlace.zero(tensor.payload);
    }
    mark(tensor, "ready");
    states[tensor.index] = how;
    waiting--;
    if (layout == null) {
      arrivals[arrived++] = tensor.index;
      return;
    }
    for (FusionBuffer buffer : layout.of(tensor)) {
      clock.ready(buffer, tensor.index);
      if (--buffer.waiting == 0) {
        advance(buffer.lane);
      }
    }
  }

  /**
   * Ends a step: waits until all tensors are reduced on this rank.
   *
   * @throws CollectiveException if a tensor is not ready, unless that is {@linkplain
   *     FusionSettings#findUnused() allowed}; if another rank failed, made a mistake or is late; or
   *     if the reducer has ended
   */
  public void await() {
    lock();
    try {
      begin(1);
      clock.awaited();
      if (error == null && waiting > 0 && !settings.findUnused()) {
        fail(
            (waiting == 1 ? "tensor " : waiting + " tensors, among them ")
                + tensors.stream()
                    .filter(tensor -> states[tensor.index] == WAITING)
                    .limit(NAMED)
                    .map(Tensor::toString)
                    .collect(Collectors.joining(" and "))
                + " never became ready before await(); declare unused ones by unused(), or let them"
                + " be found by FusionSettings.withFindUnused(true)");
      }
    } finally {
      unlock();
    }
    conclude();
  }

  /**
   * Takes part in a step without data: contributes zeros to all tensors, and does not count in an
   * average. Ranks that run out of data before others call this. Afterwards the tensors hold the
   * same result as on all ranks, so that this rank can update its parameters as they do:
   *
   * <pre>{@code
   * while (reducer.join()) {
   *   ...                    // update the parameters
   * }
   * }</pre>
   *
   * <p>One small all-reduce of the group counts the ranks that have data; it begins on each rank
   * with the step. No buffer is reduced before it has ended.
   *
   * @return whether there was a step: false as soon as all ranks call this, and then tensors are
   *     left as they are. More steps may follow
   * @throws IllegalStateException if the settings do not allow {@linkplain FusionSettings#uneven()
   *     uneven} steps
   * @throws CollectiveException if a tensor is ready already, another rank fails, or the reducer
   *     has ended
   */
  public boolean join() {
    if (!settings.uneven()) {
      throw new IllegalStateException(
          "join() in even steps: make the reducer with FusionSettings.withUneven(true)");
    }
    lock();
    try {
      if (begun && error == null) {
        fail("join() after a tensor became ready; call it instead of ready() and await()");
      }
      begin(0);
      clock.awaited();
    } finally {
      unlock();
    }
    return conclude();
  }

  /** Begins a step, if it has not begun. The caller holds the lock. */
  private void begin(int contributes) {
    if (begun || error != null) {
      return;
    }
    begun = true;
    clock.stepBegins();
    memory = new Extents();
    if (settings.uneven()) {
      counted[0] = contributes;
      try {
        CollectiveHandle handle = control.async().allReduce(countedPayload, ReduceOp.SUM);
        count = handle;
        watch(handle, -1);
        count();
      } catch (CollectiveException e) {
        fail(e);
      }
    }
  }

  /** Arranges that the next reductions are started when a call has ended. */
  private void watch(CollectiveHandle handle, int lane) {
    if (!handle.isDone()) {
      handle.whenComplete((nothing, failure) -> ended(lane));
    }
  }

  private void ended(int lane) {
    if (lock.isHeldByCurrentThread()) {
      return; // It looks again before it leaves.
    }
    lock();
    try {
      if (lane >= 0) {
        advance(lane);
      } else {
        advance();
      }
    } finally {
      unlock();
    }
  }

  /** Returns whether any rank had data. */
  private boolean conclude() {
    DrivenByWaiters driven = group instanceof DrivenByWaiters some ? some : null;
    if (driven == null) {
      return finish();
    }
    driven.beginWaiting();
    try {
      return finish();
    } finally {
      driven.endWaiting();
    }
  }

  private boolean finish() {
    boolean any = false;
    try {
      // All have begun the group's first call before any of them can leave it.
      any = await(firstCall) && await(count) && reduceAll();
    } catch (CollectiveException e) {
      lock();
      try {
        fail(e);
      } finally {
        unlock();
      }
    }
    lock();
    try {
      if (error == null) {
        reset(any);
      }
    } finally {
      unlock();
    }
    if (error != null) {
      drain();
    }
    throwError();
    if (listener != null && any) {
      listener.stepEnded(number, report());
    }
    return any;
  }

  private boolean await(@Nullable CollectiveHandle handle) {
    if (handle != null) {
      handle.await();
    }
    return true;
  }

  private boolean reduceAll() {
    lock();
    try {
      advance();
      if (error != null || contributors == 0) {
        return false;
      }
    } finally {
      unlock();
    }
    if (layout == null) {
      layOut();
    }
    lock();
    try {
      for (Tensor tensor : tensors) {
        if (settings.findUnused()) {
          users[tensor.index] = states[tensor.index] == READY ? 1 : 0;
        }
        if (states[tensor.index] == WAITING) {
          settle(tensor, UNUSED);
        }
      }
      advance();
    } finally {
      unlock();
    }
    CollectiveHandle told =
        settings.findUnused() ? control.async().allReduce(usersPayload, ReduceOp.SUM) : null;
    for (FusionBuffer buffer : buffers()) {
      await(buffer);
    }
    return await(told);
  }

  /** Returns the buffers; there are none before the first step ends. */
  private FusionBuffer[] buffers() {
    return layout == null ? NO_BUFFERS : layout.buffers;
  }

  private void await(FusionBuffer buffer) {
    while (true) {
      CollectiveHandle handle;
      lock();
      try {
        // The one before it in its lane has ended, so this begins it if nobody else has.
        advance(buffer.lane);
        if (buffer.isReduced || error != null) {
          return;
        }
        handle = Objects.requireNonNull(buffer.handle);
      } finally {
        unlock();
      }
      try {
        handle.await();
      } catch (NonFiniteException e) {
        continue; // The buffer is reduced, and says so.
      }
    }
  }

  /** Starts the reductions that can be started. The caller holds the lock. */
  private void advance() {
    for (int lane = 0; lane < next.length; lane++) {
      advance(lane);
    }
    count();
  }

  private void count() {
    CollectiveHandle handle = count;
    if (contributors >= 0 || handle == null || !handle.isDone() || error != null) {
      return;
    }
    try {
      handle.await();
      contributors = counted[0];
      for (int lane = 0; lane < next.length; lane++) {
        advance(lane);
      }
    } catch (CollectiveException e) {
      fail(e);
    }
  }

  private void advance(int lane) {
    FusionBuffer[] all = buffers();
    while (error == null && contributors > 0 && next[lane] < all.length) {
      FusionBuffer buffer = all[next[lane]];
      if (buffer.waiting > 0) {
        return;
      }
      try {
        if (buffer.handle == null) {
          begin(buffer);
        }
        CollectiveHandle handle = Objects.requireNonNull(buffer.handle);
        if (!handle.isDone()) {
          return;
        }
        handle.await();
      } catch (NonFiniteException e) {
        buffer.nonFinite = e;
      } catch (CollectiveException e) {
        fail(e);
        return;
      }
      clock.sumEnded(buffer);
      if (!isWhole()) {
        InPlace.divide(buffer.payload, contributors);
      }
      mark(buffer, "reduced");
      buffer.isReduced = true;
      next[lane] += next.length;
    }
  }

  /** Tells the trace of this rank, if it is traced, what became of a tensor or a buffer. */
  private void mark(Object what, String became) {
    if (group instanceof Traceable rank && rank.isTraced()) {
      rank.mark(what + " " + became);
    }
  }

  private void begin(FusionBuffer buffer) {
    mark(buffer, "begun");
    buffer.describeAgain();
    clock.sumBegins(buffer);
    ReduceOp op = isWhole() ? settings.op() : ReduceOp.SUM;
    CollectiveHandle handle = reduction.reduce(buffer.index, buffer.payload, op);
    buffer.handle = handle;
    watch(handle, buffer.lane);
  }

  /**
   * Returns whether a reduction over all ranks by the settings' operation is right: whether all
   * ranks contribute or the operation is a sum.
   */
  private boolean isWhole() {
    return contributors == group.size() || settings.op() == ReduceOp.SUM;
  }

  private void reset(boolean wasStep) {
    Arrays.fill(states, WAITING);
    waiting = states.length;
    arrived = 0;
    begun = false;
    count = null;
    if (wasStep) {
      clock.stepEnded(completedSteps);
      completedSteps++;
      lastContributors = contributors;
      lastNonFinite = FusionBuffer.lowestFinding(buffers());
      for (FusionBuffer buffer : buffers()) {
        buffer.clear();
      }
      for (int lane = 0; lane < next.length; lane++) {
        next[lane] = lane;
      }
    }
    contributors = settings.uneven() ? -1 : group.size();
  }

  /** Agrees with all ranks on the buffers. */
  private void layOut() {
    int[] order =
        FusionAgreement.reach(
            control, FusionLayout.registered(tensors, settings, reduction), order());
    // From here on errors come by the lanes, too, in which nobody has met yet.
    control.barrier();
    lock();
    try {
      FusionLayout made = new FusionLayout(tensors, order, settings, reduction);
      for (Tensor tensor : tensors) {
        if (states[tensor.index] == WAITING) {
          for (FusionBuffer buffer : made.of(tensor)) {
            buffer.waiting++;
          }
        }
      }
      next = new int[made.lanes];
      Arrays.setAll(next, lane -> lane);
      users = new int[order.length];
      usersPayload = Payload.of(users);
      knownOrder = order;
      layout = made;
      clock.laidOut(made.buffers.length);
    } finally {
      unlock();
    }
  }

  /**
   * Returns rank 0's order: the known one, or else that in which tensors became ready, followed by
   * the other tensors backwards.
   */
  private int[] order() {
    if (knownOrder != null) {
      return knownOrder;
    }
    int[] order = Arrays.copyOf(arrivals, tensors.size());
    boolean[] seen = new boolean[order.length];
    int place = 0;
    for (; place < arrived; place++) {
      seen[order[place]] = true;
    }
    for (int i = order.length - 1; i >= 0; i--) {
      if (!seen[i]) {
        order[place++] = i;
      }
    }
    return order;
  }

  // ------------------------------------------------------------------ errors

  private void lock() {
    lock.lock();
  }

  /** Releases the lock, and tells the other ranks if there is a new error. */
  private void unlock() {
    CollectiveException news = isErrorTold ? null : error;
    isErrorTold = error != null;
    lock.unlock();
    if (news != null) {
      tell(news);
    }
  }

  private void tell(CollectiveException news) {
    String reason = RelayedError.reason(news);
    control.abort(reason);
    reduction.abort(reason);
  }

  /** Ends the reducer because of a mistake of this rank. The caller holds the lock. */
  private void fail(String mistake) {
    int me = group.worldRank(group.rank());
    fail(
        new AbortedException(
            "step " + completedSteps + " of the gradient reducer at rank " + me + ": " + mistake,
            me));
  }

  /** Ends the reducer. The caller holds the lock. */
  private void fail(CollectiveException why) {
    if (error == null) {
      error = RelayedError.original(why);
    }
  }

  private void throwError() {
    CollectiveException why = error;
    if (why != null) {
      throw why;
    }
  }

  /**
   * Waits until no reduction is under way any more, so that all memory belongs to the caller again.
   */
  private void drain() {
    for (FusionBuffer buffer : buffers()) {
      CollectiveHandle handle = buffer.handle;
      if (handle != null) {
        try {
          handle.await();
        } catch (CollectiveException | NonFiniteException e) {
          continue; // There is an error already.
        }
      }
    }
  }

  private void check(Tensor tensor) {
    if (tensor.index >= tensors.size() || tensors.get(tensor.index) != tensor) {
      throw new IllegalArgumentException(
          "tensor " + tensor + " is none of this reducer: register it");
    }
  }

  // ------------------------------------------------------------------ questions

  /**
   * Returns whether a tensor already holds this step's result, before {@link #await} returns; if
   * so, its memory belongs to the caller again.
   */
  public boolean isReduced(Tensor tensor) {
    lock();
    try {
      check(tensor);
      return layout != null
          && Arrays.stream(layout.of(tensor)).allMatch(buffer -> buffer.isReduced);
    } finally {
      unlock();
    }
  }

  /**
   * Returns the number of ranks that made a tensor ready in the last step; if it is 0, the update
   * should leave the tensor's parameters as they are.
   *
   * @throws IllegalStateException if the reducer does not {@linkplain FusionSettings#findUnused()
   *     find} unused tensors, or before the end of the first step
   */
  public int usedBy(Tensor tensor) {
    lock();
    try {
      check(tensor);
      if (!settings.findUnused() || completedSteps == 0) {
        throw new IllegalStateException(
            "usedBy() is known after a step of a reducer with FusionSettings.withFindUnused(true)");
      }
      return users[tensor.index];
    } finally {
      unlock();
    }
  }

  /**
   * Returns the number of ranks that had data in the last step; 0 before the end of the first one.
   */
  public int contributors() {
    lock();
    try {
      return lastContributors;
    } finally {
      unlock();
    }
  }

  /**
   * Returns a gradient of the last step that is infinite or not a number: one of the lowest rank
   * that contributed such a number, in the first buffer in which it did; otherwise one of the
   * results. It is the same on all ranks, those that {@linkplain #join() joined} included.
   *
   * @return empty if all gradients are finite, if the group does not {@linkplain
   *     Communicator#checkingFinite() check} them, and before the end of the first step
   */
  public Optional<NonFiniteGradient> nonFinite() {
    lock();
    try {
      return lastNonFinite;
    } finally {
      unlock();
    }
  }

  /**
   * Returns the number of steps that have ended without an error on this rank, those of earlier
   * groups included.
   */
  public long completedSteps() {
    lock();
    try {
      return completedSteps;
    } finally {
      unlock();
    }
  }

  /**
   * Returns the times of the last step on this rank: of the backward pass, of the sums, and of each
   * buffer. Times are always noted, because that costs two looks at the clock for each buffer and
   * call.
   *
   * @throws IllegalStateException before the end of the first step
   * @since 0.2.0
   */
  public StepReport report() {
    lock();
    try {
      return clock.report(buffers(), tensors);
    } finally {
      unlock();
    }
  }

  /**
   * Gives the loss of the present step, for its {@linkplain #report() report} and that of the run;
   * it is used for nothing else. To be called before {@link #await}.
   *
   * @since 0.2.0
   */
  public void loss(double loss) {
    lock();
    try {
      clock.loss(loss);
    } finally {
      unlock();
    }
  }

  /**
   * Ends the reducer on all ranks because this one cannot go on: all of them get an error with the
   * reason.
   */
  public void abort(String reason) {
    lock();
    try {
      fail(reason);
    } finally {
      unlock();
    }
  }

  /**
   * Makes a reducer of the same tensors for another group, for example after {@link
   * Communicator#shrink()}. All ranks of that group make one, new ranks by {@link #of}; rank 0
   * sends its order once more in the first step. This reducer is closed.
   *
   * @param other the group, as in {@link #of(Communicator, FusionSettings)}
   * @throws IllegalStateException if this reducer does not reduce its buffers by all-reduces
   */
  public GradientReducer on(Communicator other) {
    if (!(reduction instanceof AllReduceLanes)) {
      throw new IllegalStateException(
          "gradients are reduced by "
              + reduction
              + ": say by what from now on, in on(group, reduction)");
    }
    int lanes = reduction.lanes();
    close();
    return on(other, BufferReduction.allReduce(other, lanes));
  }

  /**
   * Makes a reducer of the same tensors for another group, as {@link #on(Communicator)} does, whose
   * buffers are reduced by the given operation.
   *
   * @param other the group, as in {@link #of(Communicator, FusionSettings)}
   * @param by an operation of the ranks of that group; it is closed with the new reducer
   */
  public GradientReducer on(Communicator other, BufferReduction by) {
    close();
    GradientReducer made = new GradientReducer(other, settings, by, tensors);
    made.knownOrder = knownOrder;
    made.completedSteps = completedSteps;
    made.number = number;
    return made;
  }

  /** Ends the reductions under way and leaves the reducer's groups. Closing again does nothing. */
  @Override
  public void close() {
    reduction.close();
    control.close();
  }

  /**
   * Describes how tensors are fused and how the length of the buffers was chosen; known after the
   * first step, the same on all ranks.
   */
  public String explain() {
    lock();
    try {
      return layout == null ? "not known before the end of the first step" : layout.explain();
    } finally {
      unlock();
    }
  }

  /**
   * Returns a text with the number of the buffers and their lengths; all are in the tensors' own
   * memory.
   */
  @Override
  public String toString() {
    lock();
    try {
      String what =
          "gradient reducer of rank "
              + group.rank()
              + " of "
              + group.size()
              + ": "
              + tensors.size()
              + " tensors of "
              + FusionLayout.length(tensors)
              + " bytes, "
              + reduction;
      if (layout == null) {
        return what + ", order not known yet";
      }
      return what
          + ", in place in "
          + buffers().length
          + " buffers of "
          + Arrays.stream(buffers())
              .map(buffer -> Long.toString(buffer.payload.length()))
              .collect(Collectors.joining(" + "))
          + " bytes";
    } finally {
      unlock();
    }
  }
}
