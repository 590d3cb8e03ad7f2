package io.collectives;

import io.collectives.plan.Chunks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A group of ranks that reduce and exchange payloads together, seen from one of them.
 *
 * <p><b>Same calls everywhere.</b> All ranks of a group make the same calls on it in the same
 * order: the same collective, operation, element type, count, root, counts per rank and algorithm.
 * What differs is found before a byte of one call is put into another, and is a {@link
 * MismatchException} on every rank that names two ranks and both values: in that call, or, on a
 * rank that had nothing more to do in it, in its next. (Of counts per rank that add up to the same
 * it names checksums, and of frame lengths the numbers of parts that they cut the payload into.)
 *
 * <p><b>Parts.</b> Where a payload is dealt to the ranks, <em>part i</em> is that of rank i: the
 * elements from {@link #partStart partStart(total, i)} on, {@link #partCount partCount(total, i)}
 * of them, whatever the algorithm. Parts are equal to within one element. So {@link #reduceScatter
 * reduceScatter} and then {@link #allGather allGather} make an all-reduce, and what a rank does to
 * its own part between them reaches all: weight-update sharding (Xu et al. 2020; Kumar et al. 2021,
 * section 3.3). The methods with <em>counts</em> deal as the counts say: part i has {@code
 * counts[i]} elements, which may be 0, and follows part i - 1; every rank passes the same counts.
 *
 * <p><b>Types.</b> A payload is of one type. All-reduce, broadcast, reduce, send and receive also
 * take {@linkplain Payload.OfTensors payloads of several}: a call for each type, next to each other
 * in the order of calls and under way at once, which end as one. An op that is not for all of the
 * types is refused before anything is sent. {@linkplain PersistentCall Persistent calls} take one
 * type.
 *
 * <p><b>Roots.</b> Calls with a root go out from one rank or end at one. They return on each rank
 * when this rank has what it is to get, and the ranks that it sent to have taken that in; so a root
 * cannot run far ahead of the others.
 *
 * <p><b>All or an error.</b> A call ends with the result on this rank, or with a {@link
 * CollectiveException}, by its deadline. After an error the group is broken: every later call
 * throws the same error, until {@link #shrink()} makes a group of those who are left. What an
 * in-place buffer holds after an error is undefined; the input of an out-of-place call is never
 * written. (A {@link NonFiniteException}, which only those get who {@linkplain #checkingFinite()
 * ask} for it, is about a result that is there.)
 *
 * <p><b>Interrupts.</b> A thread that is interrupted while it waits for a call {@linkplain #abort
 * aborts} the group, gets the {@link AbortedException} that all ranks get, and stays interrupted.
 *
 * <p><b>Numbers.</b> All ranks end with the same bits. They depend on the inputs, the algorithm and
 * the number of ranks, not on the transport, nor on the run; on less, or on who is first, if
 * {@linkplain Repeatability asked for}.
 *
 * <p><b>Threads.</b> A communicator may be used by any thread, and calls of one thread may be under
 * way while another makes the next; their order is the order in which the methods were entered.
 * Threads that call concurrently must bring about the same order on every rank themselves. The
 * calling thread does the work while it waits; asynchronous calls are carried on by a daemon
 * thread.
 *
 * <p><b>Views.</b> {@link #using}, {@link #checkingFinite} and {@link #within} return this very
 * group with other settings: the same ranks and one sequence of calls. To {@link #close} a view
 * does nothing.
 *
 * <p><b>Groups.</b> A group that is made from this one has its settings; if its algorithm does not
 * fit the new group's size, the new group uses a ring until it is told otherwise by {@link #using}.
 *
 * <p><b>Arguments.</b> Payloads that do not fit each other, a root that is no rank and counts that
 * do not add up are an {@link IllegalArgumentException} on the rank that passed them, before
 * anything is sent. So is memory that a call writes and that is something else of that call, too:
 * input and output, residual and input, parts of one payload must not overlap unless a method says
 * that they may. This is found in arrays, and in direct memory from JDK 22 on; before, Java tells
 * nobody where a buffer lies, and it is found in payloads that were made of the same buffer object
 * only. Calls that are under way at the same time are not compared.
 *
 * <p><b>Memory.</b> Buffers belong to the library from the call until it has returned, or until the
 * handle is done. Reduce-scatters, and reductions on ranks other than the root, sum up what passes
 * through in memory of the library, which is kept for the next call of the same kind: at most 2
 * {@link CallSettings#slabsInFlight} frames for each chunk of the plan, and never much more than
 * the payload, for each call that is under way. A synchronous call allocates nothing once it has
 * been made a few times with the same shape, a {@link PersistentCall} from its first start.
 */
public interface Communicator extends AutoCloseable {

  /** This process's place in the group, from 0 to {@code size() - 1}. */
  int rank();

  /** The number of ranks in the group. */
  int size();

  /** The rank in the whole job of the given rank of this group. */
  int worldRank(int rank);

  /**
   * What tells the host of this rank from those of others: the same text at ranks that could share
   * memory, whatever transport they use, and different at others. {@link JobSettings#host} is a
   * part of it. Up to 256 characters, for comparison only.
   */
  String host();

  /** Reduces the whole array of every rank, in place. */
  void allReduce(float[] buffer, ReduceOp op);

  /** Reduces the whole array of every rank, in place. */
  void allReduce(double[] buffer, ReduceOp op);

  /** Reduces the whole array of every rank, in place. */
  void allReduce(int[] buffer, ReduceOp op);

  /** Reduces the whole array of every rank, in place. */
  void allReduce(long[] buffer, ReduceOp op);

  /**
   * Reduces one number of every rank, such as a loss.
   *
   * @return the result, the same on all ranks
   */
  default double allReduce(double value, ReduceOp op) {
    double[] buffer = {value};
    allReduce(buffer, op);
    return buffer[0];
  }

  /**
   * Reduces one number of every rank, such as a count of samples.
   *
   * @return the result, the same on all ranks
   */
  default long allReduce(long value, ReduceOp op) {
    long[] buffer = {value};
    allReduce(buffer, op);
    return buffer[0];
  }

  /** Reduces a payload of every rank, in place; it may be a part of an array. */
  default void allReduce(Payload buffer, ReduceOp op) {
    allReduce(buffer, buffer, op);
  }

  /**
   * Reduces the inputs of all ranks into the output of each.
   *
   * @param input read, never written; its kind of memory may differ between ranks
   * @param output of the same type and count as {@code input}; either the same payload, or memory
   *     that does not overlap it
   */
  void allReduce(Payload input, Payload output, ReduceOp op);

  /**
   * As {@link #allReduce(Payload, Payload, ReduceOp)}, with error feedback: what rounding to a
   * narrow {@link WireType} takes from a buffer in one call is added in the next one, so that sums
   * of many calls are off by one rounding instead of many.
   *
   * <p>The residual is memory of the caller, one for each buffer at each rank: all zeros before the
   * first call, and again whenever what it holds no longer fits, that is after a call that failed
   * and when the group, the algorithm or the op changes. During the call it belongs to the library.
   * It is worth saving with a checkpoint. If elements cross as they are, it is left alone.
   *
   * <p>Each rank adds its residual to what it sends towards a sum; the rank that completes a part
   * of a sum adds that of this part to the sum, before it is rounded for all. What is not finite is
   * not kept.
   *
   * @param op SUM or AVERAGE
   * @param residual of float32 elements, as many as {@code input} has; memory that overlaps neither
   *     input nor output. If the payload is of several types, as many as it has of float32: all
   *     else crosses as it is
   * @throws IllegalArgumentException also if the algorithm is {@link Algorithm#exchange} or {@link
   *     Algorithm#recursiveDoubling}, in which several ranks take the same sum; {@link
   *     Algorithm#auto} chooses another; and if the {@link Repeatability} is RANK_ORDER or EXACT,
   *     because what is added depends on the calls before
   */
  void allReduce(Payload input, Payload output, ReduceOp op, Payload residual);

  /**
   * Takes part in the all-reduces of this group as they come, whatever their type, count, op and
   * {@link Repeatability}, as a rank that contributes nothing and gets no result: a dedicated
   * server of {@link Algorithm#parameterServer(int, int)}. Between them no deadline runs. Memory:
   * for each call that is under way {@code 2 slabsInFlight} frames, however long the payloads are;
   * and those that wait: none in the order of arrival, at most as many from each other rank in any
   * other order. What rounding to a narrow wire type takes from the sums is kept for buffers that
   * {@linkplain io.collectives.NumberedReduction have a number}, 4 bytes for each element that this
   * rank adds up, until the service ends, and lost for others.
   *
   * <p>While it serves, this rank makes no other calls of the group, and the others make nothing
   * but all-reduces; what differs is found as in any call, with the value of the first frame that
   * came as that of this rank.
   *
   * @param ops the ops of users that others may reduce by; a frame tells no more than their names.
   *     Another one is an {@link AbortedException} on all ranks
   * @return ends normally when all ranks that contribute have left the group, as by {@link #close};
   *     with a {@link CollectiveException} when the group breaks, or one of them is lost
   * @throws IllegalStateException if this rank contributes to all-reduces
   */
  CollectiveHandle serve(UserOp... ops);

  /**
   * The first element of a rank's part of a payload that is dealt evenly.
   *
   * @param total the number of elements of the payload
   */
  default long partStart(long total, int rank) {
    Objects.checkIndex(rank, size());
    return Chunks.start(total, rank, size());
  }

  /**
   * The number of elements of a rank's part of a payload that is dealt evenly.
   *
   * @param total the number of elements of the payload
   */
  default long partCount(long total, int rank) {
    Objects.checkIndex(rank, size());
    return Chunks.count(total, rank, size());
  }

  /** Gives the root's array to all; it has the same length on all. */
  void broadcast(float[] buffer, int root);

  /**
   * Gives the root's bytes, such as a configuration, to all, who need not know how many there are.
   * Makes two calls of the group.
   *
   * @param bytes at the root; not looked at elsewhere
   * @return at the root {@code bytes} itself, elsewhere a new array
   */
  default byte[] broadcastBytes(byte @Nullable [] bytes, int root) {
    byte[] given = rank() == root ? Objects.requireNonNull(bytes, "bytes at the root") : null;
    long[] length = {given == null ? 0 : given.length};
    broadcast(Payload.of(length), root);
    byte[] all = given == null ? new byte[(int) length[0]] : given;
    broadcast(Payload.of(all), root);
    return all;
  }

  /**
   * Gives the bytes of each rank to all, who need not know how many there are. Makes two calls of
   * the group.
   *
   * @return by rank, new arrays
   */
  default List<byte[]> allGatherBytes(byte[] bytes) {
    long[] lengths = new long[size()];
    allGather(Payload.of(new long[] {bytes.length}), Payload.of(lengths));
    byte[] all = new byte[Math.toIntExact(LongStream.of(lengths).sum())];
    allGather(Payload.of(bytes), Payload.of(all), lengths);
    List<byte[]> parts = new ArrayList<>();
    int start = 0;
    for (long length : lengths) {
      parts.add(Arrays.copyOfRange(all, start, start + (int) length));
      start += (int) length;
    }
    return parts;
  }

  /**
   * Gives the root's payload to all.
   *
   * @param buffer read at the root, written at the others; of the same type and count on all
   */
  void broadcast(Payload buffer, int root);

  /**
   * Reduces the inputs of all ranks into the output of the root.
   *
   * @param input read, never written unless it is the root's output, too
   * @param output at the root, as in {@link #allReduce(Payload, Payload, ReduceOp)}; not looked at
   *     elsewhere
   */
  void reduce(Payload input, @Nullable Payload output, ReduceOp op, int root);

  /**
   * As {@link #reduce(Payload, Payload, ReduceOp, int)}, with error feedback; see {@link
   * #allReduce(Payload, Payload, ReduceOp, Payload)}. The result is rounded only where another rank
   * completes a part of it for the root, and then that one keeps what is lost.
   *
   * @param op SUM or AVERAGE
   * @param residual of float32 elements, as many as {@code input} has; memory that overlaps neither
   *     input nor output
   */
  void reduce(Payload input, @Nullable Payload output, ReduceOp op, int root, Payload residual);

  /**
   * Reduces the arrays of all ranks and leaves each rank its part.
   *
   * @param input the same length on all ranks
   * @param output of {@code partCount(input.length, rank())} elements
   */
  void reduceScatter(float[] input, float[] output, ReduceOp op);

  /**
   * Reduces the inputs of all ranks and leaves each rank its part of the result.
   *
   * @param input of {@code total} elements, the same number on all ranks; never written
   * @param output of {@code partCount(total, rank())} elements
   */
  void reduceScatter(Payload input, Payload output, ReduceOp op);

  /**
   * As {@link #reduceScatter(Payload, Payload, ReduceOp)}, with error feedback; see {@link
   * #allReduce(Payload, Payload, ReduceOp, Payload)}. Results are not rounded.
   *
   * @param op SUM or AVERAGE
   * @param residual of float32 elements, as many as {@code input} has; memory that overlaps neither
   *     input nor output
   */
  void reduceScatter(Payload input, Payload output, ReduceOp op, Payload residual);

  /**
   * As {@link #reduceScatter(Payload, Payload, ReduceOp)}, dealt by counts.
   *
   * @param input of as many elements as the counts add up to
   * @param output of {@code counts[rank()]} elements
   * @param counts the same on all ranks
   */
  void reduceScatter(Payload input, Payload output, long[] counts, ReduceOp op);

  /**
   * Puts the parts of all ranks together on every rank.
   *
   * @param part of {@code partCount(all.length, rank())} elements
   * @param all the same length on all ranks
   */
  void allGather(float[] part, float[] all);

  /**
   * Puts the parts of all ranks together on every rank.
   *
   * @param part of {@code partCount(total, rank())} elements; may lie where it will be in {@code
   *     all}, and then nothing is copied
   * @param all of {@code total} elements, the same number on all ranks
   */
  void allGather(Payload part, Payload all);

  /**
   * As {@link #allGather(Payload, Payload)}, dealt by counts.
   *
   * @param part of {@code counts[rank()]} elements
   * @param all of as many elements as the counts add up to
   * @param counts the same on all ranks
   */
  void allGather(Payload part, Payload all, long[] counts);

  /**
   * Puts the parts of all ranks together at the root.
   *
   * @param part of the same count on all ranks; at the root it may lie where it will be in {@code
   *     all}
   * @param all at the root, of {@code size()} times as many elements; not looked at elsewhere
   */
  void gather(Payload part, @Nullable Payload all, int root);

  /**
   * As {@link #gather(Payload, Payload, int)}, dealt by counts.
   *
   * @param part of {@code counts[rank()]} elements
   * @param all at the root, of as many elements as the counts add up to; not looked at elsewhere
   * @param counts the same on all ranks
   */
  void gather(Payload part, @Nullable Payload all, long[] counts, int root);

  /**
   * Deals the root's payload to all.
   *
   * @param all at the root, of {@code size()} times as many elements as a part; not looked at
   *     elsewhere
   * @param part of the same count on all ranks; at the root it may lie where it is in {@code all}
   */
  void scatter(@Nullable Payload all, Payload part, int root);

  /**
   * As {@link #scatter(Payload, Payload, int)}, dealt by counts.
   *
   * @param all at the root, of as many elements as the counts add up to; not looked at elsewhere
   * @param part of {@code counts[rank()]} elements
   * @param counts the same on all ranks
   */
  void scatter(@Nullable Payload all, Payload part, long[] counts, int root);

  /**
   * Gives each rank its part of the input of every rank: afterwards block i of the output, of
   * {@code partCount(total, rank())} elements, is part {@code rank()} of rank i's input. If {@code
   * total} is a multiple of {@code size()}, the output has as many elements as the input.
   *
   * @param input of {@code total} elements, the same number on all ranks
   * @param output of {@code size() * partCount(total, rank())} elements
   */
  void allToAll(Payload input, Payload output);

  /**
   * Gives each rank what every rank has for it. A rank's count for another one must be what that
   * one expects; a difference is found before a byte of theirs moves.
   *
   * @param input one block for each rank, {@code sendCounts[i]} elements for rank i
   * @param sendCounts may differ between ranks
   * @param output one block from each rank, {@code receiveCounts[i]} elements from rank i
   * @param receiveCounts may differ between ranks; {@code receiveCounts[rank()]} is {@code
   *     sendCounts[rank()]}
   */
  void allToAll(Payload input, long[] sendCounts, Payload output, long[] receiveCounts);

  /**
   * Sends a payload to another rank, which calls {@link #receive} with one of the same type and
   * count. Returns when that rank has received it.
   *
   * <p>What this rank sends to that one is a sequence of its own: sends and receives need no order
   * among other calls, other pairs of ranks, or the other direction, and may be under way at the
   * same time as any of them. A failure of one (a difference, a timeout, an interrupt) breaks that
   * direction of that pair only; a rank that is lost is lost to all calls, and {@link #abort} and
   * {@link #close} end all of them.
   *
   * @param to another rank
   */
  void send(Payload payload, int to);

  /**
   * Receives what another rank {@linkplain #send sends}.
   *
   * @param payload written; of the type and count that are sent
   * @param from another rank
   */
  void receive(Payload payload, int from);

  /** Waits until every rank of the group has called this. */
  void barrier();

  /**
   * The calls of this group that return at once; what they give tells when they have ended. Each is
   * the method of the same name and arguments here, and has its place in the order of calls and its
   * deadline from the moment at which it is made. They throw only what is known at once: wrong
   * arguments, a closed or broken group. All else arrives by the handle.
   *
   * @return a view: the same one, or another one, each time
   */
  Calls<CollectiveHandle> async();

  /**
   * The calls of this group, to be prepared once and made many times. Each prepares the method of
   * the same name and arguments here. To prepare a call sends nothing.
   *
   * @return a view: the same one, or another one, each time
   */
  Calls<PersistentCall> prepared();

  /**
   * Measures all-reduces of this group, for {@link Algorithm#auto}: for up to a second, of 8 bytes
   * to 8 MiB as far as the time allows, by each algorithm that the shipped table names for such a
   * group. Where another one than the shipped row's was faster, by more than the noise and a tenth,
   * it has a row from then on, which goes before the shipped ones; {@link Explanation#tuned} tells
   * whether anything was measured well enough. To be called by all ranks of the group, at the same
   * place in the order of its calls; the figures are agreed on, so that all ranks choose the same
   * ever after. Best called when some seconds of calls have been made: while the just-in-time
   * compiler is at work anything may seem fastest. A second time it measures anew.
   */
  void tune();

  /**
   * What {@link Algorithm#auto} does with an all-reduce of so many bytes in this group, by which
   * row of which table.
   *
   * @param bytes the length in memory of each rank's payload of float32 elements, at least 0;
   *     payloads of other types are sent as they are, and so decided as by a view with {@link
   *     WireType#AS_IN_MEMORY}
   */
  Explanation explain(long bytes);

  /** What the calls do that are made through this view of the group. */
  CallSettings settings();

  /**
   * This group, with another algorithm for the calls that are made through the returned view.
   *
   * @throws UnavailableException if no module on the class path plans it
   * @throws IllegalArgumentException if it does not fit the number of ranks or the repeatability
   */
  Communicator using(Algorithm algorithm);

  /**
   * This group, with another wire type for the calls that are made through the returned view; all
   * ranks must use the same.
   */
  Communicator using(WireType wireType);

  /**
   * This group, with another repeatability for the calls that are made through the returned view;
   * all ranks must use the same.
   *
   * @throws IllegalArgumentException if the algorithm cannot, or the wire type is {@link
   *     WireType#INT8}; see {@link Repeatability}
   */
  Communicator using(Repeatability repeatability);

  /**
   * This group, whose reductions (all-reduce, reduce, reduce-scatter) of floating-point elements,
   * made through the returned view, tell of numbers that are infinite or not a number, by a {@link
   * NonFiniteException} that names rank and index. The call ends as it would have without, and the
   * group is whole; so after an all-reduce of gradients all ranks can skip the step, scale down
   * their loss, and go on:
   *
   * <pre>{@code
   * try {
   *   checking.allReduce(gradients, ReduceOp.AVERAGE);
   *   ...                              // update the parameters
   * } catch (NonFiniteException e) {   // on all ranks, with the same rank and index
   *   scale /= 2;
   * }
   * }</pre>
   *
   * <p>No message is added: what a rank has found travels with the numbers. Each rank reads its
   * input once more, a slab at a time, and its share of the result. All ranks must ask for it.
   *
   * <p><b>Who tells.</b> All ranks of an all-reduce, the same. Of a reduce, the root. Of a
   * reduce-scatter all ranks, the same, if a contribution is not finite; if only a result is not,
   * the rank whose part it is in. A contribution counts even if the operation would not let it
   * through, as an infinity with {@link ReduceOp#MIN}. Integers are finite. All elements of a
   * payload of several types are checked; one number is told of.
   */
  Communicator checkingFinite();

  /**
   * This group, with another time limit for the calls that are made through the returned view.
   *
   * @param timeout more than zero
   */
  Communicator within(Duration timeout);

  /**
   * Divides the group: ranks that give the same colour form a new group, in the order of their keys
   * and, among equal keys, of their ranks here. A collective call: every rank of this group must
   * make it.
   *
   * @param colour any number; a rank that wants no company gives one that nobody else gives
   */
  Communicator split(int colour, int key);

  /**
   * The group of the given ranks of this one, in the given order. Only its members call this, all
   * with the same ranks; no bytes move until its first call.
   *
   * @param ranks distinct, this rank among them
   */
  Communicator group(int... ranks);

  /**
   * The group of the ranks {@code start, start + stride, start + 2 stride, …} of this one, this
   * rank among them: with m-way model parallelism along a row, the ranks that hold the same shard
   * (Kumar et al. 2021, figure 4). Only its members call this.
   *
   * @param count the number of ranks in the new group
   */
  default Communicator strided(int start, int stride, int count) {
    if (start < 0 || stride < 1 || count < 1 || start + (long) stride * (count - 1) >= size()) {
      throw new IllegalArgumentException(
          "ranks "
              + start
              + " + i * "
              + stride
              + " for i < "
              + count
              + " do not lie within a group of "
              + size()
              + " ranks");
    }
    int[] ranks = new int[count];
    for (int i = 0; i < count; i++) {
      ranks[i] = start + i * stride;
    }
    return group(ranks);
  }

  /**
   * Allocates memory outside of the Java heap on every rank of the group, zeros at first. Where
   * ranks are processes of one host that talk by shared memory, all of them can reach it, so that
   * collectives copy nothing to send it; see {@link CollectiveBuffer}. From then on {@link
   * Algorithm#auto} reduces all but short payloads of this group {@linkplain Algorithm#direct
   * directly}, in arrays, too, since one rank does not know where another's payload lies.
   *
   * <p>This is a collective: every rank calls it, in the same order as its other calls, with the
   * same type and count. It makes calls of its own on this group. If the memory cannot be had at
   * one rank, as when a disk or a limit is full, all ranks get an error, none keeps any, and the
   * group is as it was.
   *
   * @param type of the elements
   * @param count of the elements on each rank, from 0 to as many as fit into 2 GiB - 1 bytes; pass
   *     several payloads together for more
   * @return to be closed, or to live as long as this group
   * @throws MismatchException if ranks want different memory
   * @throws CollectiveException if a rank cannot have the memory; names the rank and says why
   */
  CollectiveBuffer allocate(ElementType type, long count);

  /**
   * The number that the next call on this group will have. Every call counts, from 0: collectives,
   * barriers and splits, in the order in which they were made; sends and receives do not.
   */
  long nextSequence();

  /**
   * Breaks the group: every call of every rank on it ends with an {@link AbortedException} that
   * names this rank and the reason, and so does every later one. Does nothing to a group that is
   * broken already. Any thread may call this at any time.
   *
   * @param reason for people
   */
  void abort(String reason);

  /**
   * The flight record of this rank: its last 256 calls on all groups of the job, with their states,
   * sizes and times; of those under way, for whom they wait. Tab-separated, with a line of column
   * names; {@code bin/collectives flight} lines up the records of several ranks. Any thread may
   * call this at any time. If {@link CallSettings#flightDirectory()} is set, the record is written
   * there by itself when a call fails.
   */
  String flightRecord();

  /**
   * Makes a group of those who are left after a failure. Every survivor calls this on its broken
   * group and waits until all have; a rank that dies meanwhile is left out as well, and one that
   * dies just after it was decided fails the new group's first call. A group that is not broken yet
   * is {@linkplain #abort aborted} first. Groups that were made from this one are not touched.
   *
   * <p>Survivors that have not called this after half of this communicator's time limit are left
   * out: they get an error when they do. If the ranks that are left out without being known to be
   * dead are more than those who are left (or as many, the lowest rank among them), this may be the
   * smaller part of a job whose network has split, and there is no new group.
   *
   * <p>The settings are those of this communicator; see <em>Groups</em> above. The source of the
   * idea is the User-Level Failure Mitigation of MPI ({@code MPI_Comm_shrink}).
   *
   * @throws RankFailedException if the others have given this rank up, or if the network may have
   *     split
   * @throws CallTimeoutException if it is not decided within the time limit of a call
   */
  Survivors shrink();

  /**
   * Fills the seats of dead ranks: the ranks of this group and as many new processes as are missing
   * from the job meet again where the job met first, and become a new world. A survivor keeps its
   * rank in the job; a new process starts like the one that it replaces, with {@link
   * Collectives#join()} and the same rank. Survivors and newcomers take the same path from there
   * on, and it is up to them to give the newcomers the state of the training, as by an all-reduce
   * to which newcomers contribute zeros.
   *
   * <p>Every rank of this group must call this. If it succeeds, the world that this group was made
   * from is closed; if not, everything is as it was and this may be called again.
   *
   * @return the new world, with the settings of this job
   * @throws JoinException if not all seats were taken within the job's time limit for joining
   * @throws CollectiveException if this group breaks before all have met: {@link #shrink} it then
   * @throws UnavailableException if the ranks are threads of one JVM
   */
  Communicator grow();

  /**
   * Leaves the group. A rank may leave as soon as its own calls have ended: others that are still
   * in them, or make them later, end them as well. Calls of this rank that are under way end with
   * {@link CommunicatorClosedException}. A rank of the group that makes a call which this rank has
   * not made, or not ended, gets {@link RankFailedException} with this rank as its culprit. Closing
   * the world closes all groups made from it and frees threads, sockets and buffers. Closing again
   * does nothing.
   *
   * <p>What one closes is what was given by a method that joins a job ({@link Collectives}, {@link
   * #grow}) or makes a group ({@link #split}, {@link #group}, {@link #strided}, {@link #shrink}).
   * Views own nothing: to close what {@link #using}, {@link #checkingFinite} or {@link #within}
   * returned does nothing, and a view of a group that is closed is closed, too. So keep the group
   * itself: {@code group(ranks).using(algorithm)} is a view of a group that lives as long as the
   * world.
   */
  @Override
  void close();
}
