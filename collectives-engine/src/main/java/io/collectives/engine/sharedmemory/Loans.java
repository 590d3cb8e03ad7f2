package io.collectives.engine.sharedmemory;

import io.collectives.spi.LeasableBody;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The leases that this rank has granted a peer: for each state in the memory of the two, whether it
 * is in use. The state of a lease that was revoked is free when the peer has let go of it.
 */
final class Loans {
  private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(10);

  private final SharedMemoryTransport transport;
  private final SharedMemoryLink link;
  private final @Nullable Loan[] loans = new Loan[Ring.Loans.COUNT];
  private int next;

  Loans(SharedMemoryTransport transport, SharedMemoryLink link) {
    this.transport = transport;
    this.link = link;
  }

  /** Returns the index of a lease that can begin, -1 if there is none. */
  int next() {
    PairMemory memory = link.memory();
    for (int i = 0; i < loans.length && memory != null; i++) {
      int index = (next + i) % loans.length;
      Loan loan = loans[index];
      if (loan == null || !loan.used && memory.lent.isOver(index, loan.number)) {
        next = index;
        return index;
      }
    }
    return -1;
  }

  /** Begins the lease that {@link #next} has found. */
  Loan begin() {
    Loan loan = loans[next];
    if (loan == null) {
      loans[next] = loan = new Loan(next);
    }
    PairMemory memory = link.memory();
    loan.number++;
    if (memory != null) {
      memory.lent.lend(next, loan.number);
    }
    loan.used = true;
    next = (next + 1) % loans.length;
    return loan;
  }

  /** Revokes all leases. */
  void revokeAll() {
    for (Loan loan : loans) {
      if (loan != null && loan.used) {
        loan.revoke();
      }
    }
  }

  /** The lease of one body. */
  final class Loan implements LeasableBody.Lease {
    private final int index;
    private long number;
    private boolean used;

    private Loan(int index) {
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
        if (memory.lent.isOver(index, number)) {
          used = false;
          return true;
        }
        checkSense(memory);
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
          memory.lent.revoke(index, number);
          awaitEndOfHold(memory);
          checkSense(memory);
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
      while (memory.lent.isHeld(index, number) && !link.isDeserted()) {
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

    private void checkSense(PairMemory memory) {
      if (!memory.lent.isSense(index, number)) {
        link.isNonsense("what it says of loan " + number + " with state " + index);
      }
    }
  }
}
