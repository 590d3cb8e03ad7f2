package io.collectives.engine;

import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The allocation of a buffer by a group. All ranks make memory of their own, and tell each other
 * what they want and have; then they map each other's, and tell each other whether they have. So
 * all of them get a buffer, or none does.
 */
final class Allocation {
  private static final int FACTS = 3;
  private static final int NOTHING = 0;
  private static final int FAILED = -1;

  private final Communicator group;
  private final GroupContext context;
  private final @Nullable MemoryLeases leases;
  private final ElementType type;
  private final long count;
  private @Nullable Throwable failure;
  private @Nullable Region region;

  /** An allocation that makes its calls in {@code group}, whose context is {@code context}. */
  Allocation(Communicator group, GroupContext context, ElementType type, long count) {
    this.group = group;
    this.context = context;
    this.leases = context.driver.leases();
    this.type = type;
    this.count = count;
    if (count < 0 || count > Integer.MAX_VALUE / type.bytes()) {
      throw new IllegalArgumentException(
          "a buffer of "
              + count
              + " "
              + type
              + " elements: must be from 0 to "
              + Integer.MAX_VALUE / type.bytes()
              + "; pass several payloads together for more");
    }
  }

  EngineBuffer run() {
    boolean done = false;
    try {
      ByteBuffer bytes = make();
      long[] facts = exchange();
      check(facts);
      Region made = region;
      if (made != null) {
        map(made, facts);
        confirm();
        context.leaseMemory(); // Whatever happens now at one rank, all have confirmed.
        made.share();
      }
      EngineBuffer buffer =
          new EngineBuffer(
              context.driver, context::forget, type, count, made, Objects.requireNonNull(bytes));
      context.remember(buffer);
      done = true;
      return buffer;
    } finally {
      if (!done && region != null) {
        region.close();
      }
    }
  }

  private @Nullable ByteBuffer make() {
    int length = Math.toIntExact(count * type.bytes());
    try {
      if (leases == null || group.size() == 1) {
        return ByteBuffer.allocateDirect(length);
      }
      int[] peers = new int[group.size()];
      for (int rank = 0; rank < peers.length; rank++) {
        peers[rank] = group.worldRank(rank);
      }
      // A mapping is never empty.
      region = leases.createRegion(Math.max(1, length), peers);
      return region.bytes();
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      failure = e;
      return null;
    }
  }

  /** Returns the wish and the memory of each rank: type, count, and the number of its region. */
  private long[] exchange() {
    Region made = region;
    long[] own = {
      type.ordinal(), count, failure != null ? FAILED : made == null ? NOTHING : made.number()
    };
    long[] all = new long[FACTS * group.size()];
    group.allGather(Payload.of(own), Payload.of(all));
    return all;
  }

  private void check(long[] facts) {
    for (int rank = 1; rank < group.size(); rank++) {
      if (facts[FACTS * rank] != facts[0] || facts[FACTS * rank + 1] != facts[1]) {
        throw new MismatchException(
            "rank "
                + group.worldRank(0)
                + " allocates "
                + wanted(facts, 0)
                + ", rank "
                + group.worldRank(rank)
                + " "
                + wanted(facts, rank)
                + "; all ranks of a group must allocate the same in the same order");
      }
    }
    for (int rank = 0; rank < group.size(); rank++) {
      if (facts[FACTS * rank + 2] == FAILED) {
        throw failed(rank);
      }
    }
  }

  private static String wanted(long[] facts, int rank) {
    ElementType[] types = ElementType.values();
    return facts[FACTS * rank + 1] + " " + types[(int) facts[FACTS * rank]] + " elements";
  }

  private void map(Region own, long[] facts) {
    for (int rank = 0; rank < group.size(); rank++) {
      if (rank != group.rank()) {
        try {
          own.map(group.worldRank(rank), (int) facts[FACTS * rank + 2]);
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
          failure = e;
          return;
        }
      }
    }
  }

  private void confirm() {
    long[] own = {failure == null ? 0 : FAILED};
    long[] all = new long[group.size()];
    group.allGather(Payload.of(own), Payload.of(all));
    for (int rank = 0; rank < all.length; rank++) {
      if (all[rank] == FAILED) {
        throw failed(rank);
      }
    }
  }

  private CollectiveException failed(int rank) {
    String what =
        "rank " + group.worldRank(rank) + " cannot have a buffer of " + count + " " + type;
    if (rank != group.rank()) {
      return new CollectiveException(what + " elements; its own error says why");
    }
    Throwable why = Objects.requireNonNull(failure, "a rank that fails knows why");
    return new CollectiveException(what + " elements: " + why, why);
  }
}
