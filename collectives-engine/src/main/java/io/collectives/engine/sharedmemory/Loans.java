package io.collectives.engine.sharedmemory;

import io.collectives.spi.LendableBody;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * What this rank lends one peer: for each state in the memory of the two, whether it is in use. A
 * loan that was revoked is free when the peer has let go.
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

  /** The index of a loan that can begin, -1 if there is none. */
  int next() {
    PairMemory memory = link.memory();
    for (int i = 0; i < loans.length && memory != null; i++) {
      int index = (next + i) % loans.length;
      Loan loan = loans[index];
      if ((loan == null || !loan.used) && memory.lent.get(index) == Ring.Loans.OVER) {
        next = index;
        return index;
      }
    }
    return -1;
  }

  /** Begins the loan that {@link #next} has found. */
  Loan begin() {
    Loan loan = loans[next];
    if (loan == null) {
      loans[next] = loan = new Loan(next);
    }
    PairMemory memory = link.memory();
    if (memory != null) {
      memory.lent.set(next, Ring.Loans.LENT);
    }
    loan.used = true;
    next = (next + 1) % loans.length;
    return loan;
  }

  /** Takes everything back. */
  void revokeAll() {
    for (Loan loan : loans) {
      if (loan != null && loan.used) {
        loan.revoke();
      }
    }
  }

  /** One body that is lent. */
  final class Loan implements LendableBody.Loan {
    private final int index;
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
      long state = memory.lent.get(index);
      if (state == Ring.Loans.OVER) {
        used = false;
        return true;
      }
      if (state != Ring.Loans.LENT && state != Ring.Loans.HELD) {
        nonsense(state);
      }
      return false;
    }

    @Override
    public void revoke() {
      transport.enter();
      try {
        PairMemory memory = link.memory();
        if (memory != null && used && !isTakenBack(memory)) {
          awaitEndOfHold(memory);
        }
        used = false;
      } finally {
        transport.leave();
      }
    }

    private boolean isTakenBack(PairMemory memory) {
      if (memory.lent.change(index, Ring.Loans.LENT, Ring.Loans.REVOKED)) {
        return true;
      }
      long state = memory.lent.get(index);
      if (state == Ring.Loans.HELD) {
        return false;
      }
      if (state != Ring.Loans.OVER) {
        nonsense(state);
      }
      return true;
    }

    /** The peer takes a sum, which lasts a moment; unless it is killed, or stopped, meanwhile. */
    private void awaitEndOfHold(PairMemory memory) {
      long start = System.nanoTime();
      while (memory.lent.get(index) == Ring.Loans.HELD && !link.isDeserted()) {
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

    private void nonsense(long state) {
      link.isNonsense("the state of what it has borrowed is " + state);
    }
  }
}
