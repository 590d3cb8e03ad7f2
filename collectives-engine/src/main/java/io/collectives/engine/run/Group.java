package io.collectives.engine.run;

import io.collectives.Statistics;
import io.collectives.internal.CallFingerprint;
import io.collectives.spi.FrameBytes;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A group of ranks, as one of them keeps it: who is in it, how far its calls are, and what is known
 * of its members. What is done about a failure is kept elsewhere. All fields belong to the engine's
 * driver, but for the final ones.
 */
public final class Group {
  private static final long WORLD_ID = 1;

  /**
   * The number of ended calls that are remembered, so that a frame of another call is recognized.
   */
  private static final int REMEMBERED = 16;

  final long id;
  final int[] members;
  final int rank;
  private final Map<Integer, Integer> rankByWorldRank = new HashMap<>();

  /** The number of the next call. */
  long nextSequence;

  /** Calls that wait because too many are under way. */
  final Deque<Call> waiting = new ArrayDeque<>();

  int callsUnderWay;

  /** The number of calls that have ended, well or not. */
  long callsEnded;

  /**
   * Calls under way that go by {@link InlineExchanges}, in their order; the first one's turn has
   * come.
   */
  final Deque<Call> inlineCalls = new ArrayDeque<>();

  /** By member: what it has left for the first one of them. Empty until there is one. */
  FrameBytes[] taken = {};

  /** The number of calls that have gone by inline exchange. */
  long inlineTurn;

  /** By what exchanges go that are too long for slots; null if they go by frames. */
  @Nullable ExchangeBuffers exchangeBuffers;

  /** If true, users have memory that peers reach; see {@link #leaseMemory}. */
  private volatile boolean leasesMemory;

  /** By what exchanges of few bytes go; null if they go by frames. */
  private @Nullable InlineChannel inlineChannel;

  /** The ranks (of the group) that frames went to or came from. */
  final boolean[] contacts;

  /** The ranks that know, or are being told, why the group is broken. */
  final boolean[] told;

  /** Why members have gone, by their rank in the group: calls that need them fail. */
  final Map<Integer, Failure> gone = new LinkedHashMap<>();

  /**
   * The members that said that they leave, by their rank in the group. They may have done their
   * part of calls that this rank has not begun.
   */
  final boolean[] left;

  /** Why no call can be made any more, once that is settled. */
  @Nullable Failure broken;

  /**
   * The failure that broke it, or null if it was only closed; it may have been closed since. Until
   * the cause is settled, this is the failure that this rank knows of.
   */
  @Nullable Failure cause;

  /** Calls that have stopped, until it is settled what broke the group. */
  final Deque<Call> stopped = new ArrayDeque<>();

  /** Calls that have ended and may be used again, by their program. */
  private final Map<Program, Deque<Call>> freeCalls = new IdentityHashMap<>();

  private final Map<Program, CallTally> tallies = new IdentityHashMap<>();

  private final long[][] ended = new long[REMEMBERED][CallFingerprint.WORDS];
  private final long[] endedSequences = new long[REMEMBERED];
  private long completed;

  /** Bit i stands for the call that comes i after {@link #completed}; see {@link Calls#WINDOW}. */
  private long completedAhead;

  /**
   * A group.
   *
   * @param id the same at all members, and different from that of every other group of the job
   * @param members the world ranks, in the order of their ranks in the group
   * @param rank this rank's place in it
   * @param inlineChannel the same at all members; null if exchanges of few bytes go by frames
   */
  public Group(long id, int[] members, int rank, @Nullable InlineChannel inlineChannel) {
    Arrays.fill(endedSequences, -1);
    this.id = id;
    this.members = members;
    this.rank = rank;
    this.inlineChannel = inlineChannel;
    this.contacts = new boolean[members.length];
    this.told = new boolean[members.length];
    this.left = new boolean[members.length];
    for (int i = 0; i < members.length; i++) {
      rankByWorldRank.put(members[i], i);
    }
  }

  /** The group of all ranks of a job. */
  public static Group world(int size, int rank) {
    int[] members = IntStream.range(0, size).toArray();
    return new Group(WORLD_ID, members, rank, InlineChannel.ofWorld(size));
  }

  /** Returns by what exchanges of few bytes go; nothing if they go by frames. */
  public @Nullable InlineChannel inlineChannel() {
    return inlineChannel;
  }

  /** Returns whether exchanges that are too long for slots go by memory that all members share. */
  public boolean hasExchangeBuffers() {
    return exchangeBuffers != null;
  }

  /**
   * The ranks have allocated memory that all of them reach, and are taken to use it from the next
   * call on, which is the same one on all ranks.
   */
  public void leaseMemory() {
    leasesMemory = true;
  }

  /** Returns whether they have. */
  boolean leasesMemory() {
    return leasesMemory;
  }

  /** Takes the channel from this group, which makes no calls any more, or none yet. */
  @Nullable InlineChannel takeInlineChannel() {
    InlineChannel taken = inlineChannel;
    inlineChannel = null;
    return taken;
  }

  /** Gives the memory of long exchanges back; the group makes no calls any more. */
  void closeExchangeBuffers() {
    if (exchangeBuffers != null) {
      exchangeBuffers.close();
    }
  }

  /** The number that the next call will have. */
  public long nextSequence() {
    return nextSequence;
  }

  /** A call of a program that has ended, to be used again; nothing if there is none. */
  @Nullable Call takeFree(Program program) {
    Deque<Call> free = freeCalls.get(program);
    return free == null ? null : free.poll();
  }

  /** The counters of the calls of a program. */
  CallTally tally(Program program) {
    return tallies.computeIfAbsent(program, CallTally::new);
  }

  /** Adds the counters of the group's calls to those of the same kind. */
  void addStatisticsTo(Map<Statistics.Kind, Statistics.Totals> sums, String name) {
    for (CallTally tally : tallies.values()) {
      tally.addTo(sums, name);
    }
  }

  /** A call has ended that may be used again, unless no more calls can be made. */
  void giveBack(Call call) {
    if (broken == null) {
      freeCalls.computeIfAbsent(call.program, program -> new ArrayDeque<>()).add(call);
    }
  }

  /** No call can be made any more. */
  void end(Failure why) {
    broken = why;
    freeCalls.clear();
  }

  /** A call has ended well. */
  void complete(long sequence, long[] fingerprint) {
    int place = (int) (sequence % REMEMBERED);
    System.arraycopy(fingerprint, 0, ended[place], 0, CallFingerprint.WORDS);
    endedSequences[place] = sequence;
    completedAhead |= 1L << (sequence - completed);
    while ((completedAhead & 1) != 0) {
      completedAhead >>>= 1;
      completed++;
    }
  }

  /** Returns the fingerprint that was agreed on of a call that ended well not long ago, or null. */
  long @Nullable [] endedFingerprint(long sequence) {
    int place = Math.floorMod(sequence, REMEMBERED);
    return endedSequences[place] == sequence ? ended[place] : null;
  }

  /** The number of the first call that has not ended well. */
  long completed() {
    return completed;
  }

  /** Returns whether it has failed or was closed; the cause may still be open. */
  boolean isBroken() {
    return broken != null || cause != null;
  }

  boolean isWorld() {
    return id == WORLD_ID;
  }

  /** The rank of this process in the group. */
  public int rank() {
    return rank;
  }

  /** The number of members. */
  public int size() {
    return members.length;
  }

  /** The world rank of a member. */
  public int worldRank(int member) {
    return members[member];
  }

  /** Returns the number by which all members know it. */
  public long id() {
    return id;
  }

  /** The rank in the group of a world rank, -1 if it is no member. */
  int rankOf(int worldRank) {
    return rankByWorldRank.getOrDefault(worldRank, -1);
  }

  @Override
  public String toString() {
    return isWorld()
        ? "the job"
        : "group " + Long.toHexString(id) + " of ranks " + Arrays.toString(members);
  }
}
