package io.collectives.netty;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.IoEvent;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.IoRegistration;
import io.netty.channel.epoll.EpollIoHandle;
import io.netty.channel.nio.NioIoHandle;
import io.netty.channel.unix.FileDescriptor;
import io.netty.util.concurrent.AbstractScheduledEventExecutor;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.nio.channels.SelectableChannel;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * An event loop without a thread: whoever waits for the network drives it, now this thread, then
 * that one.
 *
 * <p><b>Why not Netty's own.</b> A loop with a thread of its own costs two hand-overs per message,
 * ten times the latency of the message itself. Netty's {@code ManualIoEventLoop} has none, but
 * belongs to one thread for ever, while a communicator is driven by the calling thread during a
 * call and by another one between calls.
 *
 * <p><b>Driver.</b> A thread becomes the driver by {@link #enter} and ends that by {@link #leave};
 * in between {@link #inEventLoop} is true for it, so Netty's channels run what they are told at
 * once instead of queueing it. The lock behind both makes everything that one driver wrote visible
 * to the next, which is all that {@code IoHandlerFactory.isChangingThreadSupported} asks for. The
 * field {@code driver} is plain on purpose: a thread that reads it without the lock compares it
 * with itself, and only a thread's own write can make it equal.
 *
 * <p><b>Waiting is not handling.</b> {@link #runNow} handles what is ready. {@link #await} only
 * waits until something is: there is nobody to give bytes to. Netty's handlers do not separate the
 * two, so each handle is registered inside a gate that drops events while {@code waiting}. Nothing
 * is lost by that, because both epoll (level-triggered since Netty 4.2) and selectors report again
 * what has not been handled.
 *
 * <p><b>Wakeup.</b> Netty's handlers forget a wakeup that comes while nobody waits. {@code woken}
 * remembers it for the next {@link #await}. No wakeup falls between the two: the handler announces
 * that it is about to block, then asks {@code canBlock}, which reads {@code woken}; a waker sets
 * {@code woken}, then looks for the announcement.
 */
final class DrivenEventLoop extends AbstractScheduledEventExecutor implements IoEventLoop {
  private final ReentrantLock lock = new ReentrantLock();
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final Promise<Void> terminated = new DefaultPromise<>(ImmediateEventExecutor.INSTANCE);
  private final IoHandler handler;
  private final IoHandlerContext now = new Now();
  private final Wait wait = new Wait();
  private final Object wakeupGate = new Object();
  private boolean
      destroyed; // Guarded by wakeupGate: a wakeup must not write to a closed descriptor.
  private @Nullable Thread driver;
  private boolean waiting;
  private volatile boolean woken;

  /** A loop around a handler whose driving thread may change. */
  DrivenEventLoop(IoHandlerFactory factory) {
    if (!factory.isChangingThreadSupported()) {
      throw new IllegalArgumentException(factory + " binds to one thread");
    }
    handler = factory.newHandler(this);
    lock.lock();
    driver = Thread.currentThread();
    try {
      handler.initialize();
    } finally {
      leave();
    }
  }

  /** Makes the calling thread the driver, after the present one has left. May be nested. */
  void enter() {
    lock.lock();
    driver = Thread.currentThread();
  }

  /** Undoes one {@link #enter}. */
  void leave() {
    if (lock.getHoldCount() == 1) {
      driver = null;
    }
    lock.unlock();
  }

  /**
   * Handles what is ready, without waiting. The driver calls it.
   *
   * @return how many events and tasks that was
   */
  int runNow() {
    return handler.run(now) + runTasks();
  }

  /**
   * Waits until there is something to handle, or for {@code nanos}, or until woken. The driver
   * calls it.
   */
  void await(long nanos) {
    waiting = true;
    wait.nanos = nanos;
    try {
      handler.run(wait);
    } finally {
      waiting = false;
      woken = false;
    }
  }

  /** Ends a present or else the next {@link #await}. Any thread may call it at any time. */
  void wakeup() {
    woken = true;
    wakeupHandler();
  }

  /** Closes what is still registered and frees everything. The driver calls it, once. */
  void destroy() {
    handler.prepareToDestroy();
    while (runTasks() > 0) {}
    cancelScheduledTasks();
    synchronized (wakeupGate) {
      destroyed = true;
    }
    handler.destroy();
    terminated.setSuccess(null);
  }

  private int runTasks() {
    fetchFromScheduledTaskQueue(tasks);
    int count = 0;
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      safeExecute(task);
      count++;
    }
    return count;
  }

  private void wakeupHandler() {
    synchronized (wakeupGate) {
      if (!destroyed) {
        handler.wakeup();
      }
    }
  }

  @Override
  public boolean inEventLoop(Thread thread) {
    return driver == thread;
  }

  @Override
  public void execute(Runnable task) {
    tasks.add(task);
    if (!inEventLoop()) {
      wakeupHandler();
    }
  }

  @Override
  public Future<IoRegistration> register(IoHandle handle) {
    Promise<IoRegistration> promise = newPromise();
    try {
      promise.setSuccess(handler.register(gated(handle)));
    } catch (Exception e) {
      promise.setFailure(e);
    }
    return promise;
  }

  private IoHandle gated(IoHandle handle) {
    if (handle instanceof EpollIoHandle epoll) {
      return new EpollGate(epoll);
    }
    return handle instanceof NioIoHandle nio ? new NioGate(nio) : handle;
  }

  @Override
  public boolean isCompatible(Class<? extends IoHandle> handleType) {
    return handler.isCompatible(handleType);
  }

  @Override
  public boolean isIoType(Class<? extends IoHandler> handlerType) {
    return handler.getClass() == handlerType;
  }

  @Override
  public @Nullable IoEventLoopGroup parent() {
    return null;
  }

  @Override
  public IoEventLoop next() {
    return this;
  }

  @Deprecated
  @Override
  public ChannelFuture register(Channel channel) {
    return register(new DefaultChannelPromise(channel, this));
  }

  @Deprecated
  @Override
  public ChannelFuture register(ChannelPromise promise) {
    promise.channel().unsafe().register(this, promise);
    return promise;
  }

  @Deprecated
  @Override
  public ChannelFuture register(Channel channel, ChannelPromise promise) {
    channel.unsafe().register(this, promise);
    return promise;
  }

  @Override
  public Future<?> shutdownGracefully(long quietPeriod, long timeout, TimeUnit unit) {
    throw new UnsupportedOperationException("closed with its transport");
  }

  @Deprecated
  @Override
  public void shutdown() {
    throw new UnsupportedOperationException("closed with its transport");
  }

  @Override
  public Future<?> terminationFuture() {
    return terminated;
  }

  @Override
  public boolean isShuttingDown() {
    return terminated.isDone();
  }

  @Override
  public boolean isShutdown() {
    return terminated.isDone();
  }

  @Override
  public boolean isTerminated() {
    return terminated.isDone();
  }

  @Override
  public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
    return terminated.await(timeout, unit);
  }

  /** The context of {@link #runNow}. */
  private static final class Now implements IoHandlerContext {
    @Override
    public boolean canBlock() {
      return false;
    }

    @Override
    public long delayNanos(long currentTimeNanos) {
      return 0;
    }

    @Override
    public long deadlineNanos() {
      return -1;
    }
  }

  /** The context of {@link #await}: until {@code nanos} have passed or a scheduled task is due. */
  private final class Wait implements IoHandlerContext {
    private long nanos;

    @Override
    public boolean canBlock() {
      return !woken && tasks.isEmpty() && !hasScheduledTasks();
    }

    @Override
    public long delayNanos(long currentTimeNanos) {
      return Math.min(nanos, DrivenEventLoop.this.delayNanos(currentTimeNanos, nanos));
    }

    @Override
    public long deadlineNanos() {
      long time = ticker().nanoTime();
      long scheduled = nextScheduledTaskDeadlineNanos();
      return scheduled == -1 || scheduled - time > nanos ? time + nanos : scheduled;
    }
  }

  /** Lets events through unless the loop is only waiting. */
  private abstract class Gate<H extends IoHandle> implements IoHandle {
    final H handle;

    Gate(H handle) {
      this.handle = handle;
    }

    @Override
    public void handle(IoRegistration registration, IoEvent event) {
      if (!waiting) {
        handle.handle(registration, event);
      }
    }

    @Override
    public void registered() {
      handle.registered();
    }

    @Override
    public void unregistered() {
      handle.unregistered();
    }

    @Override
    public void close() {
      try {
        handle.close();
      } catch (Exception e) {
        throw new IllegalStateException("cannot close " + handle, e);
      }
    }
  }

  private final class EpollGate extends Gate<EpollIoHandle> implements EpollIoHandle {
    EpollGate(EpollIoHandle handle) {
      super(handle);
    }

    @Override
    public FileDescriptor fd() {
      return handle.fd();
    }
  }

  private final class NioGate extends Gate<NioIoHandle> implements NioIoHandle {
    NioGate(NioIoHandle handle) {
      super(handle);
    }

    @Override
    public SelectableChannel selectableChannel() {
      return handle.selectableChannel();
    }
  }
}
