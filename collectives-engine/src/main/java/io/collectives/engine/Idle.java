package io.collectives.engine;

import io.collectives.engine.run.Engine;
import io.collectives.spi.Transport;
import org.jspecify.annotations.Nullable;

/**
 * The waiting of a thread that had nothing to do: it polls again at once, then gives way to other
 * threads, then sleeps until something may have come. Ranks that outnumber the cores give way at
 * once, because the rank that they wait for may need this core; others do so soon while the kernel
 * has two ranks on one core, as it does for some ten milliseconds after both have slept. Where
 * other programs take the time that is given away, a rank {@linkplain Crowd sleeps at once}.
 */
final class Idle {
  private static final int SPINS = 500;

  /** Takes about as long as a change of threads. With none, the kernel left both on one core. */
  private static final int SPINS_BESIDE_A_PEER = 20;

  private static final int LOOKS_PER_CLOCK = 32;
  private static final long SLEEP_AFTER_NANOS = 2_000_000;
  static final long SLEEP_NANOS = 200_000;

  /** To let another thread run takes longer. */
  private static final long ALONE_NANOS = 2 * shortestYieldNanos();

  private final Engine engine;
  private final Transport transport;
  private final int mostSpins;
  private final Crowd crowd = new Crowd();
  private int spins;
  private int idles;
  private long idleSince;
  private Jfr.@Nullable Begun event;

  Idle(Engine engine, Transport transport, boolean oversubscribed) {
    this.engine = engine;
    this.transport = transport;
    this.mostSpins = oversubscribed ? 0 : SPINS;
    this.spins = mostSpins;
  }

  /** Returns the time that giving way takes if nobody takes it, 0.3 to 1.4 us. */
  private static long shortestYieldNanos() {
    long shortest = Long.MAX_VALUE;
    long begin = System.nanoTime();
    long before = begin;
    for (int i = 0; i < 200 && before - begin < SLEEP_AFTER_NANOS; i++) {
      Thread.yield();
      long after = System.nanoTime();
      shortest = Math.min(shortest, after - before);
      before = after;
    }
    return shortest;
  }

  void begin() {
    idles = 0;
  }

  /** Returns whether no peer is known to need this core, so that this rank may look for long. */
  boolean isAlone() {
    return spins == SPINS;
  }

  void idle(int work) {
    if (work > 0) {
      idles = 0;
      finishEvent();
      return;
    }
    idles++;
    if (idles <= spins) {
      Thread.onSpinWait();
      return;
    }
    if (idles == spins + 1) {
      idleSince = System.nanoTime();
      if (event == null) {
        event = Jfr.waiting(transport.rank(), engine);
      }
    }
    if (idles % LOOKS_PER_CLOCK == 0 && System.nanoTime() - idleSince > SLEEP_AFTER_NANOS) {
      transport.await(SLEEP_NANOS);
      idles--; // so that the next idle look sleeps too
    } else {
      giveWayOrSleep();
    }
  }

  /** Ends the event of waiting, if one has begun. To be called with the lock held. */
  void finishEvent() {
    Jfr.Begun begun = event;
    if (begun != null) {
      event = null;
      begun.finish();
    }
  }

  private void giveWayOrSleep() {
    long before = System.nanoTime();
    if (crowd.isHere(before)) {
      transport.await(SLEEP_NANOS);
      return;
    }
    Thread.yield();
    long after = System.nanoTime();
    crowd.gaveWay(before, after);
    boolean isPeerHere = after - before > ALONE_NANOS && after - before < Crowd.SLICE_NANOS;
    spins = isPeerHere ? Math.min(SPINS_BESIDE_A_PEER, mostSpins) : mostSpins;
  }
}
