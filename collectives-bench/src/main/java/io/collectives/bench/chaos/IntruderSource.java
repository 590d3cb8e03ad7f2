package io.collectives.bench.chaos;

import java.io.IOException;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Makes intruders at a rate, each kind in turn. Each talks in a thread of its own, so that it waits
 * for no other, until {@link #MOST_AT_ONCE} of them talk; those that send a byte a second share one
 * thread. One thread may use a source.
 */
final class IntruderSource implements AutoCloseable {
  private static final int MOST_AT_ONCE = 512;
  private static final Intruder[] KINDS = Intruder.values();

  private final ExecutorService talkers = Executors.newCachedThreadPool(daemons("intruders"));
  private final ScheduledExecutorService slow =
      Executors.newSingleThreadScheduledExecutor(daemons("slow-intruders"));
  private final Semaphore places = new Semaphore(MOST_AT_ONCE);
  private final Map<Socket, Boolean> open = new ConcurrentHashMap<>();
  private final AtomicInteger connected = new AtomicInteger();
  private final SplittableRandom random;
  private int made;

  IntruderSource(long seed) {
    random = new SplittableRandom(seed);
  }

  private static ThreadFactory daemons(String name) {
    return task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Returns how many intruders have connected so far. */
  int connected() {
    return connected.get();
  }

  /**
   * Makes intruders; takes as long as the rate says, or longer if too many talk already.
   *
   * @param victims the processes that they talk to, in turn; if there is none, only time passes
   * @param everySecond is run about once a second meanwhile
   */
  void make(int count, int perSecond, List<Intruder.Victim> victims, Runnable everySecond)
      throws InterruptedException {
    long start = System.nanoTime();
    for (int i = 0; i < count; i++) {
      sleepUntil(start + TimeUnit.SECONDS.toNanos(i) / perSecond);
      if (i % perSecond == 0) {
        everySecond.run();
      }
      if (!victims.isEmpty()) {
        // Each kind visits each victim.
        Intruder kind = KINDS[made % KINDS.length];
        Intruder.Victim victim = victims.get(made / KINDS.length % victims.size());
        SplittableRandom own = random.split();
        made++;
        places.acquire();
        talkers.execute(() -> visit(kind, victim, own));
      }
    }
    sleepUntil(start + TimeUnit.SECONDS.toNanos(count) / perSecond);
  }

  private static void sleepUntil(long nanoTime) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(nanoTime - System.nanoTime());
  }

  /** Waits until all but the slow ones have ended, and closes the connections of those. */
  void settle() throws InterruptedException {
    places.acquire(MOST_AT_ONCE);
    places.release(MOST_AT_ONCE);
    open.keySet().forEach(this::hangUp);
  }

  private void visit(Intruder kind, Intruder.Victim victim, SplittableRandom own) {
    Socket socket = null;
    boolean stays = false;
    try {
      socket = Intruder.connect(victim);
      connected.incrementAndGet();
      open.put(socket, true);
      kind.talk(socket, victim, own);
      stays = kind == Intruder.SLOW;
      if (stays) {
        drip(socket, victim.hello(), 0);
      }
    } catch (IOException e) {
      // It was refused, or cut off while it talked.
    } finally {
      if (socket != null && !stays) {
        hangUp(socket);
      }
      places.release(); // Last: settle() hangs up, and a slow one shall have begun by then.
    }
  }

  /** Says one byte, and the next in a second, until the other side has hung up. */
  private void drip(Socket socket, byte[] bytes, int at) {
    try {
      if (at < bytes.length && open.containsKey(socket)) {
        socket.getOutputStream().write(bytes[at]);
        slow.schedule(() -> drip(socket, bytes, at + 1), 1, TimeUnit.SECONDS);
        return;
      }
    } catch (IOException | RejectedExecutionException e) {
      // Cut off, or this source is closed.
    }
    hangUp(socket);
  }

  private void hangUp(Socket socket) {
    open.remove(socket);
    try {
      socket.close();
    } catch (IOException e) {
      // It is of no use any more.
    }
  }

  @Override
  public void close() {
    talkers.shutdownNow();
    slow.shutdownNow();
    open.keySet().forEach(this::hangUp);
  }
}
