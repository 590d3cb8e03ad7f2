package io.collectives;

import io.collectives.plan.Chunks;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A group of ranks that reduce and exchange payloads together; each rank has a communicator of its
 * own for it.
 *
 * <p><b>Same calls everywhere.</b> All ranks of a group make the same calls on it in the same
 * order: the same collective, operation, element type, count, root, counts per rank and algorithm.
 * A difference is found before a byte of one call is put into another. Every rank gets a {@link
 * MismatchException} that names two ranks and both values: in that call, or, on a rank that had
 * nothing more to do in it, in its next one. (For counts per rank that add up to the same total the
 * message names checksums, and for frame lengths the numbers of parts into which they cut the
 * payload.)
 *
 * <p><b>Parts.</b> Where a payload is distributed over the ranks, <em>part i</em> belongs to rank
 * i: the elements from {@link #partStart partStart(total, i)} on, {@link #partCount
 * partCount(total, i)} of them, whatever the algorithm. Parts are equal to within one element. So
 * {@link #reduceScatter reduceScatter} and then {@link #allGather allGather} make an all-reduce,
 * and a change that a rank makes to its own part between the two reaches all ranks: weight-update
 * sharding (Xu et al. 2020; Kumar et al. 2021, section 3.3). The methods with <em>counts</em>
 * distribute the payload by these: part i has {@code counts[i]} elements, which may be 0, and
 * follows part i - 1; every rank passes the same counts.
 *
 * <p><b>Types.</b> A payload is of one type. All-reduce, broadcast, reduce, send and receive also
 * take {@linkplain Payload.OfTensors payloads of several}. They make one call for each type; these
 * calls follow each other in the order of calls, are under way at once, and end together. An op
 * that does not support all of the types is refused before anything is sent. {@linkplain
 * PersistentCall Persistent calls} take one type.
 *
 * <p><b>Roots.</b> A call with a root starts from one rank or ends at one. It returns on each rank
 * when this rank has received its data, and the ranks that it sent to have received theirs; so a
 * root cannot run far ahead of the others.
 *
 * <p><b>All or an error.</b> A call ends with the result on this rank, or with a {@link
 * CollectiveException}, by its deadline. After an error the group is broken: every later call
 * throws the same error, until {@link #shrink()} makes a group of the ranks that are left. The
 * contents of an in-place buffer are undefined after an error; the input of an out-of-place call is
 * never written. (A {@link NonFiniteException}, which a rank gets only if it {@linkplain
 * #checkingFinite() asks} for the check, breaks nothing: the call has a result.)
 *
 * <p><b>Interrupts.</b> A thread that is interrupted while it waits for a call {@linkplain #abort
 * aborts} the group, gets the {@link AbortedException} that all ranks get, and stays interrupted.
 *
 * <p><b>Numbers.</b> All ranks end with the same bits. The bits depend on the inputs, the algorithm
 * and the number of ranks, and neither on the transport nor on the run. {@link Repeatability} can
 * ask for bits that depend on fewer facts, or also on the order of arrival.
 *
 * <p><b>Threads.</b> A communicator may be used by any thread, and calls of one thread may be under
 * way while another makes the next; their order is the order in which the methods were entered. A
 * program whose threads call concurrently must make sure that the order is the same on every rank.
 * The calling thread does the work while it waits; asynchronous calls are carried on by a daemon
 * thread.
 *
 * <p><b>Views.</b> {@link #using}, {@link #checkingFinite} and {@link #within} return this group
 * with other settings: a view has the same ranks, and shares one sequence of calls with the group.
 * {@link #close} of a view does nothing.
 *
 * <p><b>Groups.</b> A group that is made from this one has its settings; if its algorithm does not
 * fit the new group's size, the new group uses a ring until it is told otherwise by {@link #using}.
 *
 * <p><b>Arguments.</b> Payloads that do not fit each other, a root that is no rank and counts that
 * do not add up are an {@link IllegalArgumentException} on the rank that passed them, before
 * anything is sent. So are memory ranges that overlap where a call writes: input and output,
 * residual and input, or parts of one payload must not overlap unless a method says that they may.
 * Overlaps are found in arrays, and in direct memory from JDK 22 on; before JDK 22 the address of a
 * buffer is not known, and overlaps are found only between payloads made of the same buffer object.
 * Calls that are under way at the same time are not compared.
 *
 * <p><b>Memory.</b> Buffers belong to the library from the call until it has returned, or until the
 * handle is done. Reduce-scatters, and reductions on ranks other than the root, sum up partial
 * results in memory of the library, which is kept for the next call of the same kind: at most 2
 * {@link CallSettings#slabsInFlight} frames for each chunk of the plan, and never much more than
 * the payload, for each call that is under way. A synchronous call allocates nothing once it has
 * been made a few times with the same shape, a {@link PersistentCall} from its first start.
 *
 * <p>One class because it is the list of what a rank can do in a group: users look for a call in
 * one place, and the rules above hold for all of them.
 */
public interface Communicator extends AutoCloseable {

  /** Returns this process's rank in the group, from 0 to {@code size() - 1}. */
  int rank();

  /** Returns the number of ranks in the group. */
  int size();

  /** Returns the rank in the whole job of the given rank of this group. */
  int worldRank(int rank);

  /**
   * Returns an identifier of the host of this rank. It is the same text at ranks that could share
   * memory, whatever transport they use, and different at others. {@link JobSettings#host} is a
   * part of it. The text has up to 256 characters, and is for comparison only.
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
   * @param input the payload to read; it is never written; its kind of memory may differ between
   *     ranks
   * @param output the payload to write, of the same type and count as {@code input}; either the
   *     same payload, or memory that does not overlap it
   */
  void allReduce(Payload input, Payload output, ReduceOp op);

  /**
   * Reduces the inputs of all ranks into the output of each, as {@link #allReduce(Payload, Payload,
   * ReduceOp)} does, with error feedback: the rounding error of a narrow {@link WireType} in one
   * call is added in the next one, so that sums of many calls have the error of one rounding
   * instead of many.
   *
   * <p>The residual is memory of the caller, one for each buffer at each rank. It must be all zeros
   * before the first call, and again whenever its contents have become invalid: after a call that
   * failed, and when the group, the algorithm or the op changes. During the call it belongs to the
   * library. It should be saved with a checkpoint. If elements are sent as they are in memory, it
   * stays untouched.
   *
   * <p>Each rank adds its residual to what it sends towards a sum; the rank that completes a part
   * of a sum adds its residual of this part to the sum, before it is rounded for all. Residuals
   * that are not finite are not kept.
   *
   * @param op SUM or AVERAGE
   * @param residual as many float32 elements as {@code input} has, in memory that overlaps neither
   *     input nor output. If the payload is of several types, as many as it has of float32, because
   *     the other elements are sent as they are in memory
   * @throws IllegalArgumentException also if the algorithm is {@link Algorithm#exchange} or {@link
   *     Algorithm#recursiveDoubling}, in which several ranks compute the same sum ({@link
   *     Algorithm#auto} chooses another one); and if the {@link Repeatability} is RANK_ORDER or
   *     EXACT, because residuals depend on the calls before
   */
  void allReduce(Payload input, Payload output, ReduceOp op, Payload residual);

  /**
   * Takes part in the all-reduces of this group as they come, whatever their type, count, op and
   * {@link Repeatability}, as a rank that contributes nothing and gets no result: a dedicated
   * server of {@link Algorithm#parameterServer(int, int)}. No deadline runs between the calls. A
   * server needs memory for {@code 2 slabsInFlight} frames for each call that is under way, however
   * long the payloads are, and for frames that wait: none if it adds up in the order of arrival, at
   * most as many from each other rank in any other order. The rounding error of a narrow wire type
   * in the sums is kept for buffers that {@linkplain io.collectives.NumberedReduction have a
   * number}, 4 bytes for each element that this rank adds up, until the service ends, and is lost
   * for others.
   *
   * <p>While it serves, this rank makes no other calls of the group, and the others call nothing
   * but all-reduces. A difference is found as in any call; the message names the value of the first
   * frame that arrived as that of this rank.
   *
   * @param ops the user-defined ops that the others may use, because a frame contains no more than
   *     the name of an op. Any other one is an {@link AbortedException} on all ranks
   * @return a handle that ends normally when all ranks that contribute have left the group, for
   *     example by {@link #close}; with a {@link CollectiveException} when the group breaks, or one
   *     of them is lost
   * @throws IllegalStateException if this rank contributes to all-reduces
   */
  CollectiveHandle serve(UserOp... ops);

  /**
   * Returns the index of the first element of a rank's part of a payload that is distributed
   * evenly.
   *
   * @param total the number of elements of the payload
   */
  default long partStart(long total, int rank) {
    Objects.checkIndex(rank, size());
    return Chunks.start(total, rank, size());
  }

  /**
   * Returns the number of elements of a rank's part of a payload that is distributed evenly.
   *
   * @param total the number of elements of the payload
   */
  default long partCount(long total, int rank) {
    Objects.checkIndex(rank, size());
    return Chunks.count(total, rank, size());
  }

  /** Sends the root's array to all ranks; it has the same length on all. */
  void broadcast(float[] buffer, int root);

  /**
   * Sends the root's bytes, such as a configuration, to all ranks, which need not know how many
   * there are. This makes two calls of the group.
   *
   * @param bytes the bytes to send, at the root; ignored elsewhere
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
   * Sends the bytes of each rank to all ranks, which need not know how many there are. This makes
   * two calls of the group.
   *
   * @return new arrays, one for each rank, in the order of ranks
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
   * Sends the root's payload to all ranks.
   *
   * @param buffer the payload, read at the root and written at the others; it has the same type and
   *     count on all
   */
  void broadcast(Payload buffer, int root);

  /**
   * Reduces the inputs of all ranks into the output of the root.
   *
   * @param input the payload to read; it is never written, unless it is also the root's output
   * @param output the payload to write at the root, as in {@link #allReduce(Payload, Payload,
   *     ReduceOp)}; ignored elsewhere
   */
  void reduce(Payload input, @Nullable Payload output, ReduceOp op, int root);

  /**
   * Reduces to the root as {@link #reduce(Payload, Payload, ReduceOp, int)} does, with error
   * feedback; see {@link #allReduce(Payload, Payload, ReduceOp, Payload)}. The result is rounded
   * only where another rank completes a part of it for the root, and then that rank keeps the
   * rounding error.
   *
   * @param op SUM or AVERAGE
   * @param residual as many float32 elements as {@code input} has, in memory that overlaps neither
   *     input nor output
   */
  void reduce(Payload input, @Nullable Payload output, ReduceOp op, int root, Payload residual);

  /**
   * Reduces the arrays of all ranks and gives each rank its part of the result.
   *
   * @param input the array to read, of the same length on all ranks
   * @param output the array to write, of {@code partCount(input.length, rank())} elements
   */
  void reduceScatter(float[] input, float[] output, ReduceOp op);

  /**
   * Reduces the inputs of all ranks and gives each rank its part of the result.
   *
   * @param input the payload to read, of {@code total} elements, the same number on all ranks;
   *     never written
   * @param output the payload to write, of {@code partCount(total, rank())} elements
   */
  void reduceScatter(Payload input, Payload output, ReduceOp op);

  /**
   * Reduces and scatters as {@link #reduceScatter(Payload, Payload, ReduceOp)} does, with error
   * feedback; see {@link #allReduce(Payload, Payload, ReduceOp, Payload)}. Results are not rounded.
   *
   * @param op SUM or AVERAGE
   * @param residual as many float32 elements as {@code input} has, in memory that overlaps neither
   *     input nor output
   */
  void reduceScatter(Payload input, Payload output, ReduceOp op, Payload residual);

  /**
   * Reduces the inputs of all ranks and gives rank i {@code counts[i]} elements of the result.
   *
   * @param input the payload to read, of as many elements as the counts add up to
   * @param output the payload to write, of {@code counts[rank()]} elements
   * @param counts the number of elements of each rank, the same on all ranks
   */
  void reduceScatter(Payload input, Payload output, long[] counts, ReduceOp op);

  /**
   * Gathers the parts of all ranks on every rank.
   *
   * @param part this rank's part, of {@code partCount(all.length, rank())} elements
   * @param all the array to write, of the same length on all ranks
   */
  void allGather(float[] part, float[] all);

  /**
   * Gathers the parts of all ranks on every rank.
   *
   * @param part this rank's part, of {@code partCount(total, rank())} elements; it may be its own
   *     range of {@code all}, and then nothing is copied
   * @param all the payload to write, of {@code total} elements, the same number on all ranks
   */
  void allGather(Payload part, Payload all);

  /**
   * Gathers {@code counts[i]} elements of each rank i on every rank.
   *
   * @param part this rank's part, of {@code counts[rank()]} elements
   * @param all the payload to write, of as many elements as the counts add up to
   * @param counts the number of elements of each rank, the same on all ranks
   */
  void allGather(Payload part, Payload all, long[] counts);

  /**
   * Gathers the parts of all ranks at the root.
   *
   * @param part this rank's part, of the same count on all ranks; at the root it may be its own
   *     range of {@code all}
   * @param all the payload to write at the root, of {@code size()} times as many elements; ignored
   *     elsewhere
   */
  void gather(Payload part, @Nullable Payload all, int root);

  /**
   * Gathers {@code counts[i]} elements of each rank i at the root.
   *
   * @param part this rank's part, of {@code counts[rank()]} elements
   * @param all the payload to write at the root, of as many elements as the counts add up to;
   *     ignored elsewhere
   * @param counts the number of elements of each rank, the same on all ranks
   */
  void gather(Payload part, @Nullable Payload all, long[] counts, int root);

  /**
   * Scatters the root's payload over all ranks.
   *
   * @param all the payload to read at the root, of {@code size()} times as many elements as a part;
   *     ignored elsewhere
   * @param part the payload to write, of the same count on all ranks; at the root it may be its own
   *     range of {@code all}
   */
  void scatter(@Nullable Payload all, Payload part, int root);

  /**
   * Scatters the root's payload: rank i gets {@code counts[i]} elements.
   *
   * @param all the payload to read at the root, of as many elements as the counts add up to;
   *     ignored elsewhere
   * @param part the payload to write, of {@code counts[rank()]} elements
   * @param counts the number of elements of each rank, the same on all ranks
   */
  void scatter(@Nullable Payload all, Payload part, long[] counts, int root);

  /**
   * Sends each rank its part of the input of every rank: afterwards block i of the output, of
   * {@code partCount(total, rank())} elements, is part {@code rank()} of rank i's input. If {@code
   * total} is a multiple of {@code size()}, the output has as many elements as the input.
   *
   * @param input the payload to read, of {@code total} elements, the same number on all ranks
   * @param output the payload to write, of {@code size() * partCount(total, rank())} elements
   */
  void allToAll(Payload input, Payload output);

  /**
   * Sends a block of any length from each rank to each rank. The count that a rank sends to another
   * one must be the count that that one expects; a difference is found before a byte moves between
   * the two.
   *
   * @param input one block for each rank, {@code sendCounts[i]} elements for rank i
   * @param sendCounts the number of elements for each rank; they may differ between ranks
   * @param output one block from each rank, {@code receiveCounts[i]} elements from rank i
   * @param receiveCounts the number of elements from each rank; they may differ between ranks;
   *     {@code receiveCounts[rank()]} is {@code sendCounts[rank()]}
   */
  void allToAll(Payload input, long[] sendCounts, Payload output, long[] receiveCounts);

  /**
   * Sends a payload to another rank, which calls {@link #receive} with a payload of the same type
   * and count. Returns when that rank has received it.
   *
   * <p>The messages of one rank to another are a sequence of their own: sends and receives need no
   * order relative to other calls, other pairs of ranks, or the other direction, and may be under
   * way at the same time as any of them. A failed send or receive (a difference, a timeout, an
   * interrupt) breaks that direction of that pair only; the loss of a rank affects all calls, and
   * {@link #abort} and {@link #close} end all of them.
   *
   * @param to another rank
   */
  void send(Payload payload, int to);

  /**
   * Receives a payload that another rank {@linkplain #send sends}.
   *
   * @param payload the payload to write, of the type and count that are sent
   * @param from another rank
   */
  void receive(Payload payload, int from);

  /** Waits until every rank of the group has called this. */
  void barrier();

  /**
   * Returns the calls of this group in a form that returns at once with a {@link CollectiveHandle}.
   * Each method starts the call of the same name and arguments here; its place in the order of
   * calls and its deadline count from that moment. It throws only errors that are known at once:
   * wrong arguments, a closed or broken group. All other errors arrive by the handle.
   *
   * @return a view, which may be a new object each time
   */
  Calls<CollectiveHandle> async();

  /**
   * Returns the calls of this group in a form that is prepared once and made many times. Each
   * method prepares the call of the same name and arguments here. Preparing a call sends nothing.
   *
   * @return a view, which may be a new object each time
   */
  Calls<PersistentCall> prepared();

  /**
   * Measures all-reduces of this group, for {@link Algorithm#auto}: for about a second, of 8 bytes
   * to 8 MiB as far as the time allows, by each algorithm that the shipped table names for such a
   * group. Where another one than the shipped row's was faster, by more than the noise and a tenth,
   * and once more when the two were measured again, it has a row from then on, which goes before
   * the shipped ones; {@link Explanation#tuned} tells whether anything was measured well enough. To
   * be called by all ranks of the group, at the same place in the order of its calls; the figures
   * are agreed on, so that all ranks choose the same ever after. Best called when some seconds of
   * calls have been made: while the just-in-time compiler is at work anything may seem fastest.
   * Afterwards that compiler works for some seconds, on what the measured calls brought it, and
   * calls may take several times as long where ranks outnumber the processors. A second time it
   * measures anew.
   */
  void tune();

  /**
   * Returns the choice of {@link Algorithm#auto} for an all-reduce of the given length in this
   * group, and the row of the table that says so.
   *
   * @param bytes the length in memory of each rank's payload of float32 elements, at least 0; for
   *     payloads of other types, which are sent as they are, ask a view with {@link
   *     WireType#AS_IN_MEMORY}
   */
  Explanation explain(long bytes);

  /** Returns the settings of the calls that are made through this view of the group. */
  CallSettings settings();

  /**
   * Returns a view of this group whose calls use another algorithm.
   *
   * @throws UnavailableException if no module on the class path plans the algorithm
   * @throws IllegalArgumentException if it does not fit the number of ranks or the repeatability
   */
  Communicator using(Algorithm algorithm);

  /**
   * Returns a view of this group whose calls use another wire type; all ranks must use the same.
   */
  Communicator using(WireType wireType);

  /**
   * Returns a view of this group whose calls have another repeatability; all ranks must use the
   * same.
   *
   * @throws IllegalArgumentException if the algorithm does not support it, or the wire type is
   *     {@link WireType#INT8}; see {@link Repeatability}
   */
  Communicator using(Repeatability repeatability);

  /**
   * Returns a view of this group whose reductions (all-reduce, reduce, reduce-scatter) of
   * floating-point elements throw a {@link NonFiniteException} if a number is infinite or not a
   * number; the exception names rank and index. The result is the same as without the check, and
   * the group is not broken; so after an all-reduce of gradients all ranks can skip the step, scale
   * down their loss, and go on:
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
   * <p>No message is added: the findings of a rank travel with the numbers. Each rank reads its
   * input once more, a slab at a time, and its share of the result. All ranks must use the check.
   *
   * <p><b>Ranks that throw.</b> In an all-reduce, all ranks throw the same exception. In a reduce,
   * the root throws. In a reduce-scatter all ranks throw the same exception if a contribution is
   * not finite; if only a result is not, the rank throws that owns the part. A contribution counts
   * even if the operation would drop it, as {@link ReduceOp#MIN} drops an infinity. Integers are
   * always finite. All elements of a payload of several types are checked; the exception names one
   * number.
   */
  Communicator checkingFinite();

  /**
   * Returns a view of this group whose calls have another time limit.
   *
   * @param timeout more than zero
   */
  Communicator within(Duration timeout);

  /**
   * Divides the group: ranks that pass the same color form a new group, in the order of their keys
   * and, among equal keys, of their ranks here. A collective call: every rank of this group must
   * make it.
   *
   * <p>Where ranks share memory, at least three such groups at a time exchange few bytes as fast as
   * the group of all ranks does, because their ranks agree on memory for that. It is free again
   * when a rank has closed its group.
   *
   * @param color any number; a rank that passes a color of its own forms a group by itself
   * @param key any number; it orders the ranks of the new group
   */
  Communicator split(int color, int key);

  /**
   * Makes a group of the given ranks of this one, in the given order. Only its members call this,
   * all with the same ranks; no bytes move until its first call. So the ranks cannot agree on what
   * makes calls of a few bytes fast in groups that are {@linkplain #split split} off.
   *
   * @param ranks distinct ranks, this rank among them
   */
  Communicator group(int... ranks);

  /**
   * Makes a group of the ranks {@code start, start + stride, start + 2 stride, …} of this one, this
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
   * ranks are processes of one host that talk by shared memory, all of them can access it, so that
   * collectives copy nothing to send it; see {@link CollectiveBuffer}. From then on {@link
   * Algorithm#auto} reduces all but short payloads of this group {@linkplain Algorithm#direct
   * directly}, in arrays, too, since a rank does not know whether the payloads of the others lie in
   * such memory.
   *
   * <p>This is a collective: every rank calls it, in the same order as its other calls, with the
   * same type and count. It makes calls of its own on this group. If one rank cannot allocate the
   * memory, for example because a disk or a limit is full, all ranks get an error, no rank keeps
   * memory, and the group stays usable.
   *
   * @param type the type of the elements
   * @param count the number of elements on each rank, from 0 to as many as fit into 2 GiB - 1
   *     bytes; pass several payloads together for more
   * @return a buffer, which lives until it or this group is closed
   * @throws MismatchException if ranks ask for different memory
   * @throws CollectiveException if a rank cannot allocate the memory; the message names the rank
   *     and says why
   */
  CollectiveBuffer allocate(ElementType type, long count);

  /**
   * Returns the number of the next call on this group. Every call counts, from 0: collectives,
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
   * Returns the flight record of this rank: its last 256 calls on all groups of the job, with their
   * states, sizes and times, and for calls under way the ranks that they wait for. The text is
   * tab-separated, with a line of column names; {@code bin/collectives flight} compares the records
   * of several ranks. Any thread may call this at any time. If {@link
   * CallSettings#flightDirectory()} is set, the record is also written there automatically when a
   * call fails.
   */
  String flightRecord();

  /**
   * Begins to trace this rank: from now on it records every call on every group of the job, every
   * frame that it sends or gets, the work on each, for whom it waits, and pauses of the garbage
   * collector. The trace ends when it, or the world, is closed, and is written to a file then;
   * {@code bin/collectives timeline} makes one picture of the traces of all ranks. The last 262,144
   * events count; they take 16 MiB of memory while the trace is on. Any thread may call this at any
   * time. Ranks may begin and end at different times, and a rank may be traced alone.
   *
   * <p>A rank that joins with a {@link CallSettings#traceDirectory()} is traced from then on.
   *
   * @param directory where to write {@code trace-rank-3.tsv}; it is made if it is not there
   * @return the trace, to be closed by the caller
   * @throws IllegalStateException if this rank is traced already
   * @throws CommunicatorClosedException if the world is closed
   * @since 0.2.0
   */
  Trace trace(Path directory);

  /**
   * Returns counters of the calls that this rank has made and that have ended, on all groups of the
   * job, since it joined. They cost nothing but some additions for each call. Any thread may call
   * this at any time, after {@link #close}, too; it takes as long as a few calls, so once a second
   * is often enough.
   *
   * @since 0.2.0
   */
  Statistics statistics();

  /**
   * Makes a group of the ranks that are left after a failure. Every survivor calls this on its
   * broken group and waits until all have called it; a rank that dies meanwhile is left out as
   * well, and one that dies just after the decision fails the new group's first call. A group that
   * is not broken yet is {@linkplain #abort aborted} first. Groups that were made from this one
   * stay as they are.
   *
   * <p>Survivors that have not called this after half of this communicator's time limit are left
   * out: they get an error when they do. If the ranks that are left out without being known to be
   * dead are more than those who are left (or as many, the lowest rank among them), this may be the
   * smaller part of a job whose network has split, and there is no new group.
   *
   * <p>The new group has the settings of this communicator; see <em>Groups</em> above. The idea is
   * that of {@code MPI_Comm_shrink} in MPI's User-Level Failure Mitigation.
   *
   * @throws RankFailedException if the others have given up this rank, or if the network may have
   *     split
   * @throws CallTimeoutException if the ranks do not decide within the time limit of a call
   */
  Survivors shrink();

  /**
   * Replaces dead ranks: the ranks of this group and as many new processes as are missing from the
   * job join again at the job's rendezvous, and become a new world. A survivor keeps its rank in
   * the job; a new process starts like the one that it replaces, with {@link Collectives#join()}
   * and the same rank. The program must then send the state of the training to the new processes,
   * for example by an all-reduce to which they contribute zeros.
   *
   * <p>Every rank of this group must call this. If it succeeds, the world that this group was made
   * from is closed; if not, nothing has changed and this may be called again.
   *
   * @return the new world, with the settings of this job
   * @throws JoinException if not all ranks joined within the job's time limit for joining
   * @throws CollectiveException if this group breaks before all have joined: {@link #shrink} it
   *     then
   * @throws UnavailableException if the ranks are threads of one JVM
   */
  Communicator grow();

  /**
   * Leaves the group. A rank may leave as soon as its own calls have ended: others that are still
   * in these calls, or make them later, end them normally. Calls of this rank that are under way
   * end with {@link CommunicatorClosedException}. A rank of the group that makes a call which this
   * rank has not made, or not ended, gets a {@link RankFailedException} that names this rank.
   * Closing the world closes all groups made from it and frees threads, sockets and buffers.
   * Closing again does nothing.
   *
   * <p>A program closes the communicators that come from a method that joins a job ({@link
   * Collectives}, {@link #grow}) or makes a group ({@link #split}, {@link #group}, {@link
   * #strided}, {@link #shrink}). Views own nothing: closing a communicator that {@link #using},
   * {@link #checkingFinite} or {@link #within} returned does nothing, and a view of a group that is
   * closed is closed, too. So keep the group itself: {@code group(ranks).using(algorithm)} is a
   * view of a group that lives as long as the world.
   */
  @Override
  void close();
}
