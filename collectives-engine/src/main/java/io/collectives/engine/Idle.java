package io.collectives.engine;

import io.collectives.engine.run.Engine;
import io.collectives.spi.PromptWaits;
import io.collectives.spi.Transport;
import org.jspecify.annotations.Nullable;

/**
 * The waiting of a thread that had nothing to do: it polls again at once, then gives way to other
 * threads, then sleeps until something may have come. Ranks that outnumber the cores give way at
 * once, because the rank that they wait for may need this core; others do so soon while the kernel
 * has two ranks on one core, as it does for some ten milliseconds after both have slept. Where
 * other programs take the time that is given away, a rank {@linkplain Crowd sleeps at once}.
 *
 * <p>The kernel hardly moves threads that only give way: of four ranks it left three on one core
 * and one on the other for tenths of a second, and calls took 1.6 to 1.8 times as long. Who is
 * alone on its core comes back at once from giving way. If it sleeps instead, its core is idle, and
 * the kernel moves another rank there. That is worth it where whatever arrives ends the sleep
 * without a word of its sender.
 */
final class Idle {
  private static final int SPINS = 500;

  /** Takes about as long as a change of threads. With none, the kernel left both on one core. */
  private static final int SPINS_BESIDE_A_PEER = 20;

  private static final int LOOKS_PER_CLOCK = 32;
  private static final long SLEEP_AFTER_NANOS = 2_000_000;
  static final long SLEEP_NANOS = 200_000;

  /** To let another thread run takes longer. */
  private static final long ALONE_NANOS = 1_000;

  /** The number of times in a row that a thread finds itself alone on its core before it sleeps. */
  private static final int MOST_TIMES_ALONE = 8;

  private final Engine engine;
  private final Transport transport;
  private final int mostSpins;
  private final boolean sleepsIfAlone;
  private final Crowd crowd = new Crowd();
  private int spins;
  private int idles;
  private long idleSince;
  private int alone;
  private Jfr.@Nullable Begun event;

  Idle(Engine engine, Transport transport, boolean oversubscribed) {
    this.engine = engine;
    this.transport = transport;
    this.mostSpins = oversubscribed ? 0 : SPINS;
    this.spins = mostSpins;
    this.sleepsIfAlone = oversubscribed && transport.capability(PromptWaits.class) != null;
  }

  void begin() {
    idles = 0;
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
    if (!sleepsIfAlone) {
      return;
    }
    if (after - before > ALONE_NANOS) {
      alone = 0;
    } else if (++alone >= MOST_TIMES_ALONE) {
      transport.await(SLEEP_NANOS);
    }
  }
}
