package io.collectives.engine.run;

import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Memory in which the members of a group lay their contributions open to each other: what an {@link
 * InlineExchange} has no room for, and what is still so short that waits count more than bytes.
 * Each rank copies its contribution into its own buffer and says so in a slot; there is no frame,
 * no reply and no lease. When all have, either of two things follows.
 *
 * <ul>
 *   <li>By <b>exchange</b> each rank reduces all contributions to its result. That is one wait for
 *       a call; what a group of few ranks pays for it is that each rank reads all contributions.
 *   <li>By a <b>direct</b> program each rank reduces all contributions to one chunk, puts the sum
 *       in the place of each of them and says so in the slots once more; when all have, each rank
 *       copies the sums from its own buffer. Those are two waits, and each number is reduced once.
 * </ul>
 *
 * <p><b>A life.</b> The first call that needs the buffers begins with a turn of its own, in which
 * each rank tells the others the number of its region and then maps theirs. So whoever has ended
 * that call knows that all have mapped its buffer, and nobody needs its file any more. A rank holds
 * the buffers of its peers until it leaves the group; so one that has completed a call may leave at
 * once, while others still read what it has left.
 *
 * <p><b>Turns.</b> A buffer has two halves, which calls use in turn as they use slots; {@link
 * InlineExchanges} says why nobody writes what somebody still reads. A direct call stays in the
 * half of its first turn. When it ends at a rank, all have said that the sums are there, so nobody
 * uses the buffer of that rank any more.
 *
 * <p>Threads: the driver's lock is held.
 */
public final class ExchangeBuffers {
  /** The most bytes of a contribution to an exchange, which a frame must be able to hold. */
  public static final int LONGEST_EXCHANGE = 128 << 10;

  /** The most bytes of a contribution. */
  static final int CAPACITY = 256 << 10;

  /**
   * The most bytes for each rank of a direct call if users have memory that peers reach: longer
   * calls gain more from leases, which copy nothing, than their frames cost, of which each rank has
   * one for each other.
   */
  private static final int MOST_BESIDE_LEASES = 8 << 10;

  /** The bytes of the memory of a rank. */
  static final int LENGTH = 2 * CAPACITY;

  /** The bytes of the number of a region. */
  static final int NUMBER_LENGTH = Long.BYTES;

  private static final FrameBytes NOTHING = new FrameBytes(ByteBuffer.allocate(0));

  private final MemoryLeases leases;
  private final int[] members;
  private final int rank;
  private final int longestInSlot;

  /** By member. That of this rank is its own; what is not mapped is {@link #NOTHING}. */
  private final FrameBytes[] buffers;

  /** By member, made when all are mapped. */
  private ExchangeView[] views = new ExchangeView[0];

  /** The contributions of all others to the chunk that this rank reduces, once they are here. */
  private HeldFrame[] contributions = new HeldFrame[0];

  private @Nullable Region own;

  /** Members from 0 on that have been told the number of the region, or are this rank. */
  private int told;

  private int mapped;
  private boolean open;
  private boolean shared;
  private long failedSince;
  private boolean failed;

  private ExchangeBuffers(MemoryLeases leases, int[] members, int rank, int longestInSlot) {
    this.leases = leases;
    this.longestInSlot = longestInSlot;
    this.members = members;
    this.rank = rank;
    this.buffers = new FrameBytes[members.length];
    Arrays.fill(buffers, NOTHING);
  }

  /**
   * The buffers of a group; nothing unless all members share memory.
   *
   * @param members the world ranks, in the order of their ranks in the group
   * @param rank this rank's place in it
   * @param leases by which peers reach memory of this rank; nothing if they cannot
   * @param longestInSlot the bytes that need no buffers
   */
  static @Nullable ExchangeBuffers of(
      int[] members, int rank, @Nullable MemoryLeases leases, int longestInSlot) {
    if (leases == null) {
      return null;
    }
    for (int member = 0; member < members.length; member++) {
      if (member != rank && !leases.reaches(members[member])) {
        return null;
      }
    }
    return new ExchangeBuffers(leases, members, rank, longestInSlot);
  }

  /**
   * Returns whether a call that is not too long for one frame goes by them.
   *
   * @param besideLeases whether users have memory that peers reach
   */
  boolean take(CallRun call, boolean besideLeases) {
    Program program = call.program;
    long most = 0;
    if (program.isExchange && program.chunks == 1) {
      most = LONGEST_EXCHANGE;
    } else if (program.isDirect) {
      most = besideLeases ? (long) members.length * MOST_BESIDE_LEASES : CAPACITY;
    }
    long bytes = call.count() * call.elementBytes();
    return longestInSlot < bytes && bytes <= most;
  }

  /** Returns whether the turn is over in which ranks tell each other where their buffers are. */
  boolean areOpen() {
    return open;
  }

  /**
   * Ends that turn if all regions are mapped and all members have been told of that of this rank.
   */
  boolean tryToOpen() {
    open = mapped == members.length && nextToTell() < 0;
    if (open) {
      views = Arrays.stream(buffers).map(ExchangeView::new).toArray(ExchangeView[]::new);
      contributions = new HeldFrame[members.length - 1];
      Arrays.setAll(contributions, i -> new HeldFrame());
    }
    return open;
  }

  /** Makes the region of this rank, unless there is one. */
  void make() throws IOException {
    if (own == null) {
      Region made = leases.createRegion(LENGTH, members);
      own = made;
      buffers[rank] = new FrameBytes(made.bytes());
      mapped++;
    }
  }

  /** Returns the next member that is to be told the number of the region; -1 if none is. */
  int nextToTell() {
    if (told == rank) {
      told++;
    }
    return told < members.length ? told : -1;
  }

  /** The next member has been told. */
  void told() {
    told++;
  }

  /** Returns the number of the region, as it goes to the other members. */
  FrameBody number() {
    long number = region().number();
    return new FrameBody() {
      @Override
      public int length() {
        return NUMBER_LENGTH;
      }

      @Override
      public void store(FrameBytes target, int at) {
        target.bytes().putLong(at, number);
      }

      @Override
      public void release() {}
    };
  }

  /** Returns whether the region of a member is mapped. */
  boolean isMapped(int member) {
    return buffers[member] != NOTHING;
  }

  /** Returns the first member whose region is not mapped; -1 if all are. */
  int awaited() {
    for (int member = 0; member < buffers.length; member++) {
      if (member != rank && !isMapped(member)) {
        return member;
      }
    }
    return -1;
  }

  /** Maps the region of a member. */
  void map(int member, long number) throws IOException {
    Region by = region();
    by.map(members[member], (int) number);
    buffers[member] = by.hold(members[member]);
    mapped++;
  }

  /** A region could not be mapped. Returns for how long that has been so. */
  long hasFailedFor(long now) {
    if (!failed) {
      failed = true;
      failedSince = now;
    }
    return now - failedSince;
  }

  /**
   * Copies a contribution of this rank to where the others read it; {@link #check} follows.
   *
   * @param offset the byte of the payload with which it begins
   */
  void fill(long turn, int offset, FrameBody contribution) {
    contribution.store(buffers[rank], at(turn) + offset);
  }

  /** Looks whether so many bytes of this rank's buffer, just written or read, are still there. */
  void check(long turn, int length) {
    region().check(at(turn), length);
  }

  /** Returns the index of the first byte of the contributions of a turn. */
  int at(long turn) {
    return (int) (turn & 1) * CAPACITY;
  }

  /** Returns the buffers by member. */
  FrameBytes[] memories() {
    return buffers;
  }

  /** Returns the contributions of all others to the chunk of a direct call. */
  HeldFrame[] contributions(CallRun call, Program.FusedReduction fused, long turn) {
    for (int i = 0; i < contributions.length; i++) {
      ExchangeView theirs = views[fused.receives[i].peer];
      contributions[i].view = theirs.show(call, fused.first.firstChunk, at(turn));
    }
    return contributions;
  }

  /** Returns the sum of a chunk, which its owner has put in this rank's buffer. */
  View sum(CallRun call, int chunk, long turn) {
    return views[rank].show(call, chunk, at(turn));
  }

  /** A call has ended well, so all members have mapped the region of this rank. */
  void share() {
    if (!shared) {
      shared = true;
      region().share();
    }
  }

  /** Gives the memory back; the group makes no calls any more. */
  void close() {
    if (own != null) {
      Arrays.fill(buffers, NOTHING); // Their memory goes with it.
      views = new ExchangeView[0];
      own.close();
      own = null;
    }
  }

  private Region region() {
    return Objects.requireNonNull(own, "it is made");
  }
}
