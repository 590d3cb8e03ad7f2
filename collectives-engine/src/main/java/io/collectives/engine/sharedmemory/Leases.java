package io.collectives.engine.sharedmemory;

import io.collectives.spi.LeasableBody;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The leases that this rank has granted a peer: for each state in the memory of the two, whether it
 * is in use. The state of a lease that was revoked is free when the peer has let go of it.
 */
final class Leases {
  private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(10);

  private final SharedMemoryTransport transport;
  private final SharedMemoryLink link;
  private final @Nullable GrantedLease[] leases = new GrantedLease[Ring.LeaseStates.COUNT];
  private int next;

  Leases(SharedMemoryTransport transport, SharedMemoryLink link) {
    this.transport = transport;
    this.link = link;
  }

  /** Returns the index of a lease that can begin, -1 if there is none. */
  int next() {
    PairMemory memory = link.memory();
    for (int i = 0; i < leases.length && memory != null; i++) {
      int index = (next + i) % leases.length;
      GrantedLease lease = leases[index];
      if (lease == null || !lease.used && memory.leasesOut.isOver(index, lease.number)) {
        next = index;
        return index;
      }
    }
    return -1;
  }

  /** Begins the lease that {@link #next} has found. */
  GrantedLease begin() {
    GrantedLease lease = leases[next];
    if (lease == null) {
      leases[next] = lease = new GrantedLease(next);
    }
    PairMemory memory = link.memory();
    lease.number++;
    if (memory != null) {
      memory.leasesOut.grant(next, lease.number);
    }
    lease.used = true;
    next = (next + 1) % leases.length;
    return lease;
  }

  /** Revokes all leases. */
  void revokeAll() {
    for (GrantedLease lease : leases) {
      if (lease != null && lease.used) {
        lease.revoke();
      }
    }
  }

  /** The lease of one body. */
  final class GrantedLease implements LeasableBody.Lease {
    private final int index;
    private long number;
    private boolean used;

    private GrantedLease(int index) {
      this.index = index;
    }

    int index() {
      return index;
    }

    @Override
    public boolean isOver() {
      PairMemory memory = link.memory();
      if (memory == null || !used) {
        used = false;
        return true; // What is sent on a lost link is dropped.
      }
      try {
        if (memory.leasesOut.isOver(index, number)) {
          used = false;
          return true;
        }
        checkState(memory);
      } catch (InternalError e) {
        link.survive(e);
      }
      return false;
    }

    @Override
    public void revoke() {
      transport.enter();
      try {
        PairMemory memory = link.memory();
        if (memory != null && used) {
          memory.leasesOut.revoke(index, number);
          awaitEndOfHold(memory);
          checkState(memory);
        }
      } catch (InternalError e) {
        link.survive(e); // Then the peer holds nothing for longer than a moment.
      } finally {
        used = false;
        transport.leave();
      }
    }

    /**
     * Waits while the peer writes a sum, which lasts a moment unless it is killed, or stopped,
     * meanwhile.
     */
    private void awaitEndOfHold(PairMemory memory) {
      long start = System.nanoTime();
      while (memory.leasesOut.isHeld(index, number) && !link.isDeserted()) {
        if (System.nanoTime() - start > transport.silenceLimitNanos()) {
          link.isSilent(
              "rank "
                  + link.peer()
                  + " has not given back memory that it was about to write to after "
                  + transport.silenceLimitNanos()
                  + " ns");
          return;
        }
        LockSupport.parkNanos(this, PAUSE_NANOS);
        transport.hearOfDeaths();
      }
    }

    private void checkState(PairMemory memory) {
      if (!memory.leasesOut.isPossible(index, number)) {
        link.protocolError("what it says of lease " + number + " with state " + index);
      }
    }
  }
}
