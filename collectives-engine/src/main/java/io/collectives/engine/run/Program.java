package io.collectives.engine.run;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.engine.memory.NarrowWire;
import io.collectives.internal.CallFingerprint;
import io.collectives.plan.Chunks;
import io.collectives.plan.Effect;
import io.collectives.plan.InvalidPlanException;
import io.collectives.plan.Plan;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The part of one rank in a plan, in the form in which the engine runs it.
 *
 * <p>The rounds of a plan are an order on each chunk, not a barrier between ranks: a step may run
 * as soon as the earlier steps of this rank on the same chunks have. So each step only knows how
 * often its chunks must have been written and read before. A send waits for the earlier writes; a
 * write waits for the earlier writes and reads. Within a round sends come first, and writes follow
 * in the order in which the plan names them, so that sums do not depend on timing.
 *
 * <p>Why nothing waits for ever: order the steps of all ranks by round, sends first. A send waits
 * for writes of earlier rounds only. A write waits for its frame, whose send stands before it, for
 * writes before it, and for this rank's reads before it to be over, which is when the receivers
 * have written them. A read in the same round as a write of the same chunk would be a circle (two
 * ranks that exchange sums), so it is marked as {@linkplain Step#copied copied} and is over at
 * once: it is copied, unless the link does so anyway. A rank in such a circle takes what it holds
 * as others get it, and the lower rank's operand first, so that ranks that exchange sums take the
 * same one; see {@link io.collectives.plan.PlanVerifier}.
 *
 * <p><b>Fused reductions.</b> Where all contributions to a chunk go to its owner in one round, and
 * the sum from there to all in a later one, as in the direct plans, the owner may wait for all of
 * them and take the sum in one pass. If the ranks share memory it writes the sum to everybody's
 * output in the same pass: each contribution is read once and each output written once, which is
 * the least that must be done, and the frames of the later round only say that the sum is there.
 * Whether they do is seen by the contributions: if one of them comes as bytes, each is added when
 * its turn has come, and whoever's output could not be reached is sent the sum. The order of the
 * sum stays that of the plan. In an exchange, where several ranks complete a chunk, each from the
 * contributions of all others in one round, they wait for all of them, too, to take the sum in the
 * order of ranks.
 *
 * <p><b>In rank order.</b> A program may be asked to take every reduction in the order of ranks.
 * Then all of them are fused, also those of contributions that come as bytes, which are held until
 * all are here; a plan in which a rank adds something else than the contribution of each other
 * rank, all in one round, cannot do that.
 *
 * <p><b>In the order of arrival.</b> Or a program may be asked to let nobody wait for another. Then
 * reductions into a chunk in one round may follow in any order, each when all of its frame is here:
 * a frame of which bytes have been added cannot let another one pass. Only the reductions of
 * exchanges are fused, whose order all ranks must agree on. What a write finds (a chunk that is
 * still untouched, or one that it completes) is seen when it is done.
 *
 * <p><b>Serving.</b> A rank that {@linkplain Plan#contributors() does not contribute} has no memory
 * of the user's. Its chunks hold nothing at first, so the first contribution is put there, and the
 * others are added to it.
 *
 * <p><b>Relays.</b> What a rank relays lands in a place of its own, as if it were a chunk more, and
 * goes on from there: in the same round, but after the receive. No other step waits for it, so the
 * order of all steps holds with relays behind the sends of their round. If the next rank reaches
 * memory of this one, that is where it reads what has landed ({@link Landing}).
 *
 * <p>A chunk that this rank is to have in the end is written to the user's output. Other chunks
 * that pass through this rank, as partial sums do, have a {@linkplain #workSlots slot} in memory of
 * the library.
 */
public final class Program {
  final Algorithm algorithm;

  /** Put together once: some names are made of several parts. */
  final String algorithmName;

  /** That name as fingerprints hold it. */
  final long[] nameWords;

  final Collective collective;
  final int ranks;
  final int rank;
  final int root;
  final int chunks;

  /** The number of ranks that contribute, the first ones; an average is divided by it. */
  final int contributors;

  /**
   * If true, this is an all-to-all in which each pair of ranks has counts of its own, which others
   * do not know.
   */
  final boolean pairwise;

  /** If true, a receiver tells its senders when its part of a slab is done; see {@link Engine}. */
  final boolean echoes;

  /** The ranks of the group that this rank exchanges frames with, ascending. */
  final int[] peers;

  /**
   * Of a rank that serves: the contributors that it exchanges frames with, or that its peers do
   * which serve as well; ascending.
   */
  final int[] served;

  /** By index of the peer: whether frames go to it. */
  final boolean[] sendsTo;

  /** By index of the peer: whether frames come from it. */
  final boolean[] receivesFrom;

  /**
   * By chunk: its slot if it is written here but is not part of this rank's result, else -1;
   * nothing if all are -1.
   */
  final int @Nullable [] workSlots;

  /** The number of slots. */
  final int workSlotCount;

  /** The chunks, of other ranks, that this rank relays, each in a place of its own. */
  private final int[] landed;

  /** The ranks of the group to which this rank relays them, ascending. */
  final int[] relaysTo;

  /**
   * The chunks of a reduction that this rank neither sends nor is sent, because it alone
   * contributes to them and has the result: mostly none.
   */
  final int[] ownChunks;

  final Lane[] lanes;

  /** The reductions that take all contributions to chunks of this rank in one pass. */
  final FusedReduction[] fusedReductions;

  /**
   * If true, each rank sends each other one chunk of what it has, at once, and nothing else: an
   * all-gather, a reduce-scatter, or an all-reduce or barrier of one chunk.
   */
  final boolean isExchange;

  /** Of an exchange that reduces: the ranks in the order in which their contributions are added. */
  final int[] summands;

  /**
   * If true, each rank is sent all contributions to one chunk and sends their sum to all others, in
   * an all-reduce, and nothing else.
   */
  final boolean isDirect;

  /** If true, every reduction is taken in the order of ranks. */
  final boolean inRankOrder;

  /** If true, several ranks complete a chunk, each for itself. */
  final boolean hasSeveralOwners;

  /**
   * The most chunks that any transfer of the plan, of any rank, carries; frames are sized by it.
   */
  final int widestTransfer;

  /**
   * By chunk: its number among those whose contribution {@linkplain Step#returns returns} as the
   * sum, else -1.
   */
  private final int[] returning;

  /** The number of chunks that return. */
  final int returns;

  /** The ranks of the group from which they return, ascending. */
  final int[] returnsFrom;

  /** The number of all sends and receives. */
  final int steps;

  Program(
      Algorithm algorithm,
      Plan plan,
      int rank,
      boolean inRankOrder,
      boolean hasSeveralOwners,
      boolean pairwise,
      Parts parts) {
    this.algorithm = algorithm;
    this.algorithmName = CallFingerprint.told(algorithm.name());
    this.nameWords = CallFingerprint.words(algorithmName);
    this.collective = plan.collective();
    this.ranks = plan.ranks();
    this.rank = rank;
    this.root = plan.root();
    this.chunks = plan.chunks();
    this.contributors = plan.contributors();
    this.pairwise = pairwise;
    this.inRankOrder = inRankOrder;
    this.hasSeveralOwners = hasSeveralOwners;
    this.echoes = pairwise || collective.rooted();
    this.peers = parts.peers;
    this.served = parts.served;
    this.lanes = parts.lanes;
    this.fusedReductions = parts.fusedReductions;
    this.widestTransfer = parts.widestTransfer;
    this.sendsTo = new boolean[peers.length];
    this.receivesFrom = new boolean[peers.length];
    int sum = 0;
    for (Lane lane : lanes) {
      sum += lane.sends.length;
      for (Step send : lane.sends) {
        sendsTo[peerIndex(send.peer)] = true;
      }
      for (int peer = 0; peer < peers.length; peer++) {
        sum += lane.receives[peer].length;
        receivesFrom[peer] |= lane.receives[peer].length > 0;
      }
    }
    this.steps = sum;
    this.isExchange =
        switch (collective) {
              case ALL_REDUCE, BARRIER -> chunks == 1;
              case REDUCE_SCATTER, ALL_GATHER -> chunks == ranks;
              default -> false;
            }
            && lanes.length == 1
            && peers.length == ranks - 1
            && ranks > 1
            && sum == 2 * peers.length
            && plan.rounds(0) == 1
            && widestTransfer == 1;
    this.summands =
        isExchange && collective == Collective.REDUCE_SCATTER && !inRankOrder
            ? IntStream.concat(IntStream.of(rank), inOrder(lanes[0].receives)).toArray()
            : IntStream.range(0, ranks).toArray();
    int[] writes = parts.writes;
    int dealt = partsOf(collective, ranks);
    if (chunks % dealt != 0) {
      throw new InvalidPlanException(
          "the plan of "
              + collective
              + " by the algorithm \""
              + algorithm.name()
              + "\" for "
              + ranks
              + " ranks has "
              + chunks
              + " chunks: a multiple of "
              + dealt
              + " is needed");
    }
    this.landed = parts.landed;
    this.relaysTo = peersOf(send -> send.at >= chunks);
    this.returning = new int[chunks];
    Arrays.fill(returning, -1);
    int returned = 0;
    for (Step send : (Iterable<Step>) sends().filter(step -> step.returns)::iterator) {
      for (int i = 0; i < send.chunkCount; i++) {
        returning[send.firstChunk + i] = returned++;
      }
    }
    this.returns = returned;
    this.returnsFrom = peersOf(send -> send.returns);
    this.isDirect =
        chunks == ranks
            && contributors == ranks
            && lanes.length == 1
            && peers.length == ranks - 1
            && fusedReductions.length == 1
            && fusedReductions[0].placing
            && fusedReductions[0].first.chunkCount == 1
            && returns == peers.length
            && lanes[0].sends.length == 2 * peers.length
            && Arrays.stream(lanes[0].receives).allMatch(receives -> receives.length == 2);
    int[] slots = new int[chunks];
    int used = 0;
    for (int chunk = 0; chunk < chunks; chunk++) {
      slots[chunk] = writes[chunk] > 0 && !isResult(chunk) ? used++ : -1;
    }
    this.workSlots = used == 0 ? null : slots;
    this.workSlotCount = used;
    this.ownChunks =
        collective == Collective.ALL_REDUCE && contributes()
            ? IntStream.range(0, chunks).filter(chunk -> writes[chunk] == 0).toArray()
            : new int[0];
  }

  /**
   * Returns whether this rank contributes to a reduction, and gets its result if all do; else it
   * serves.
   */
  public boolean contributes() {
    return rank < contributors;
  }

  /** Returns whether a chunk is part of the result of this rank. */
  boolean isResult(int chunk) {
    return switch (collective) {
      case ALL_REDUCE -> contributes();
      case BARRIER, ALL_GATHER, BROADCAST -> true;
      case REDUCE, GATHER -> rank == root;
      case REDUCE_SCATTER, SCATTER -> chunk / chunksOfPart() == rank;
      case ALL_TO_ALL -> chunk / chunksOfPart() % ranks == rank;
    };
  }

  /** The peers from which one receive each comes, in the order in which a plan applies them. */
  private static IntStream inOrder(Step[][] receives) {
    return Arrays.stream(receives)
        .map(fromPeer -> fromPeer[0])
        .sorted(Comparator.comparingInt(receive -> receive.writesBefore[0]))
        .mapToInt(receive -> receive.peer);
  }

  private int[] peersOf(Predicate<Step> some) {
    return sends().filter(some).mapToInt(send -> send.peer).distinct().sorted().toArray();
  }

  private Stream<Step> sends() {
    return Arrays.stream(lanes).flatMap(lane -> Arrays.stream(lane.sends));
  }

  /** Returns the number of a chunk among those that return, -1 if it does not. */
  int returning(int chunk) {
    return chunk < chunks ? returning[chunk] : -1;
  }

  /** Returns the number of places for what this rank relays. */
  int landings() {
    return landed.length;
  }

  /** Returns the number of chunks and of places for what this rank relays, which follow them. */
  int places() {
    return chunks + landed.length;
  }

  /** Returns the chunk that is in a place. */
  int chunkAt(int place) {
    return place < chunks ? place : landed[place - chunks];
  }

  /** Returns the number of chunks of a part, where the payload is distributed to the ranks. */
  int chunksOfPart() {
    return chunks / partsOf(collective, ranks);
  }

  private static int partsOf(Collective collective, int ranks) {
    return switch (collective) {
      case ALL_REDUCE, BARRIER, BROADCAST, REDUCE -> 1;
      case REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER -> ranks;
      case ALL_TO_ALL -> Math.multiplyExact(ranks, ranks);
    };
  }

  /** By which algorithm. */
  public Algorithm algorithm() {
    return algorithm;
  }

  /** Returns the collective that it runs. */
  public Collective collective() {
    return collective;
  }

  /**
   * Returns whether several ranks take the same sum, each for itself. Then each contribution goes
   * into several sums, and the amounts that rounding takes from it cannot be made up for.
   */
  public boolean hasSeveralOwners() {
    return hasSeveralOwners;
  }

  /** The most chunks that any transfer of the plan carries. */
  public int widestTransfer() {
    return widestTransfer;
  }

  /**
   * The bytes of payload that this rank sends, without headers.
   *
   * @param count the elements of a payload that is cut evenly, as that of an all-reduce
   * @param narrow how elements lie in frames; nothing if as they are in memory
   * @param frameLength the most bytes of a frame
   */
  public long sentBytes(
      long count, ElementType type, @Nullable NarrowWire narrow, int frameLength) {
    int slabs = slabs(Chunks.longest(count, chunks), elementsOfFrame(type, narrow, frameLength));
    long bytes = 0;
    for (Lane lane : lanes) {
      for (Step send : lane.sends) {
        for (int chunk = send.firstChunk; chunk < send.firstChunk + send.chunkCount; chunk++) {
          long elements = Chunks.count(count, chunk, chunks);
          for (int slab = 0; slab < slabs; slab++) {
            int piece = (int) Chunks.count(elements, slab, slabs);
            bytes += narrow == null ? (long) piece * type.bytes() : narrow.length(piece);
          }
        }
      }
    }
    return bytes;
  }

  /** The most elements of a chunk in a frame. */
  long elementsOfFrame(ElementType type, @Nullable NarrowWire narrow, int frameLength) {
    int piece = frameLength / widestTransfer;
    return Math.max(1, narrow == null ? piece / type.bytes() : narrow.fitting(piece));
  }

  /**
   * Returns the least number of slabs with which no piece of the longest chunk has more elements.
   */
  static int slabs(long longest, long elementsOfFrame) {
    return Math.toIntExact(Math.max(1, (longest + elementsOfFrame - 1) / elementsOfFrame));
  }

  /** The index of a rank in {@link #peers}, negative if it is none. */
  int peerIndex(int rank) {
    return Arrays.binarySearch(peers, rank);
  }

  /**
   * The parts that a compiler has made of a plan; the fields of the same names say what each is.
   *
   * @param writes by chunk, how often it is written at this rank
   * @param landed the chunk that is in each place beyond those of the chunks
   */
  record Parts(
      int[] peers,
      int[] served,
      Lane[] lanes,
      FusedReduction[] fusedReductions,
      int widestTransfer,
      int[] writes,
      int[] landed) {}

  /** The steps of one lane. */
  static final class Lane {
    /** In the order in which they go out. */
    final Step[] sends;

    /** By index of the peer, in the order in which they come in. */
    final Step[][] receives;

    Lane(Step[] sends, Step[][] receives) {
      this.sends = sends;
      this.receives = receives;
    }
  }

  /** Returns the number of contributions that come to a fused reduction of this rank. */
  int fusedContributions() {
    return contributors - (contributes() ? 1 : 0);
  }

  /** All contributions to some chunks, which this rank takes together. */
  static final class FusedReduction {
    final int index;

    /**
     * If true, the sum is taken in the order of ranks, this one in its place, from memory or bytes.
     * Else it begins with this rank, if it contributes, and is taken from memory only.
     */
    final boolean inRankOrder;

    /** If true, all are sent the sum later, so that it may be put into their outputs at once. */
    final boolean placing;

    /** The one that the plan names first. */
    final Step first;

    /** The receives from all other ranks, in the order of the sum. */
    final Step[] receives;

    FusedReduction(int index, boolean inRankOrder, boolean placing, List<Step> receives) {
      this.index = index;
      this.inRankOrder = inRankOrder;
      this.placing = placing;
      this.first = receives.get(0);
      this.receives = receives.toArray(Step[]::new);
      if (inRankOrder) {
        Arrays.sort(this.receives, Comparator.comparingInt(step -> step.origin));
      }
    }

    /** The index of the contribution of a rank, which has one. */
    int placeOf(int contributor) {
      int place = 0;
      while (receives[place].origin != contributor) {
        place++;
      }
      return place;
    }
  }

  /** A transfer as one of its two ranks sees it. Arrays have an entry for each chunk. */
  static final class Step {
    final int round;
    final int peer;
    final int firstChunk;
    final int chunkCount;
    final Effect effect;

    /** The place of the first chunk: that chunk, or where this rank keeps what it relays. */
    final int at;

    /** The rank whose contribution a receive brings, which is the peer unless that relays it. */
    final int origin;

    /** The number of times that each chunk must have been written before. */
    final int[] writesBefore;

    /** For a receive: how often at most; more if others of its round may come before it. */
    final int[] writesAtMost;

    /** For a receive: how many reads of the chunk must be over before. */
    final int[] readsBefore;

    /**
     * For a send: whether the chunk has not been written before, so that this rank's contribution
     * is still in the input only.
     */
    final boolean[] untouched;

    /**
     * For a receive: whether the last one of its round that writes the chunk completes it, so that
     * an average is to be divided here.
     */
    final boolean[] completes;

    /** For a receive: whether this rank sends the chunk in the same round. */
    final boolean[] exchanges;

    /** For a receive: whether others may come before it that the plan names after it. */
    boolean anyOrder;

    /**
     * For a send: whether a write of the same round follows, so that what is sent must be copied.
     */
    boolean copied;

    /**
     * For a send: whether all contributions meet at the peer, which sends the sum back, so that it
     * may put the sum where the contribution lies.
     */
    boolean returns;

    /** The one that a contribution comes to, or a sum is sent from. */
    @Nullable FusedReduction fused;

    Step(int round, int peer, int firstChunk, int chunkCount, Effect effect) {
      this(round, peer, peer, firstChunk, firstChunk, chunkCount, effect);
    }

    private Step(
        int round, int peer, int origin, int at, int firstChunk, int chunkCount, Effect effect) {
      this.round = round;
      this.peer = peer;
      this.origin = origin;
      this.at = at;
      this.firstChunk = firstChunk;
      this.chunkCount = chunkCount;
      this.effect = effect;
      this.writesBefore = new int[chunkCount];
      this.writesAtMost = new int[chunkCount];
      this.readsBefore = new int[chunkCount];
      this.untouched = new boolean[chunkCount];
      this.completes = new boolean[chunkCount];
      this.exchanges = new boolean[chunkCount];
    }

    /** A receive of what another rank than the peer has sent. */
    static Step relayed(
        int round, int peer, int origin, int firstChunk, int chunkCount, Effect effect) {
      return new Step(round, peer, origin, firstChunk, firstChunk, chunkCount, effect);
    }

    /** A receive of what is to be sent on, into places of its own. */
    static Step landing(int round, int peer, int at, int firstChunk, int chunkCount) {
      return new Step(round, peer, peer, at, firstChunk, chunkCount, Effect.REPLACE);
    }

    /** The send that follows {@link #landing}. */
    Step onwards(int to) {
      Step send = new Step(round, to, peer, at, firstChunk, chunkCount, Effect.REPLACE);
      Arrays.fill(send.writesBefore, 1);
      return send;
    }

    boolean hasSameChunks(Step other) {
      return firstChunk == other.firstChunk && chunkCount == other.chunkCount;
    }

    boolean isAlongside(Step other) {
      return round == other.round && effect == other.effect && hasSameChunks(other);
    }
  }
}
