package io.collectives.bench.process;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Processes that do not outlive this one. They end with the group, and with this JVM: a shutdown
 * hook ends them on SIGINT, SIGTERM and SIGHUP too, so that they receive SIGTERM whichever of these
 * came. Every process is ended by its handle, which a reused process id cannot deceive, together
 * with its descendants.
 *
 * <p>What cannot be reached: a descendant whose parent has already ended, because nobody can tell
 * any more whose it was; and everything after SIGKILL of this JVM, for which {@link ParentLines} is
 * the remedy in workers of this program.
 *
 * <p>Threads: any thread may call any method.
 */
public final class ProcessGroup implements AutoCloseable {
  /** The time that processes may take to end before they are killed. */
  public static final Duration GRACE = Duration.ofSeconds(5);

  private static final long POLL_MILLIS = 5;

  private final List<Process> members = new ArrayList<>();
  private final BlockingQueue<Exit> exits = new LinkedBlockingQueue<>();
  private final Duration grace;
  private final Thread hook = new Thread(this::end, "end-processes");
  private boolean ending;

  /**
   * The end of a process.
   *
   * @param rank the number that it was started with
   * @param status its exit status; 128 and the signal if one killed it
   */
  public record Exit(int rank, int status) {}

  /** An empty group whose processes have {@link #GRACE} to end. */
  public ProcessGroup() {
    this(GRACE);
  }

  /** An empty group whose processes have {@code grace} to end. */
  public ProcessGroup(Duration grace) {
    this.grace = grace;
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /**
   * Starts a process.
   *
   * @throws IOException if the command cannot be run
   */
  public synchronized Process start(int rank, ProcessBuilder command) throws IOException {
    if (ending) {
      throw new IOException("the processes are being ended");
    }
    Process process = command.start();
    members.add(process);
    process.onExit().thenAccept(ended -> exits.add(new Exit(rank, ended.exitValue())));
    return process;
  }

  /** Waits until another process has ended; each is reported once, in the order of their ends. */
  public Exit awaitExit() throws InterruptedException {
    return exits.take();
  }

  /** Waits at most the grace until the processes have ended by themselves. */
  public void awaitEnd() {
    Set<ProcessHandle> processes;
    synchronized (this) {
      processes = members.stream().map(Process::toHandle).collect(Collectors.toSet());
    }
    await(processes, grace);
  }

  /**
   * Ends every process that still lives: SIGTERM, and SIGKILL after the grace. Returns when they
   * are gone.
   */
  public void end() {
    List<Process> processes;
    synchronized (this) {
      ending = true;
      processes = List.copyOf(members);
    }
    Set<ProcessHandle> living = withDescendants(processes.stream().map(Process::toHandle));
    living.forEach(ProcessHandle::destroy);
    await(living, grace);
    Set<ProcessHandle> stubborn = withDescendants(living.stream());
    stubborn.forEach(ProcessHandle::destroyForcibly);
    await(stubborn, GRACE);
    // What has just vanished is reported to awaitExit a moment later.
    CompletableFuture.allOf(
            processes.stream().map(Process::onExit).toArray(CompletableFuture[]::new))
        .completeOnTimeout(null, GRACE.toMillis(), TimeUnit.MILLISECONDS)
        .join();
  }

  @Override
  public void close() {
    end();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // The JVM is shutting down and the hook has run or is running.
    }
  }

  private static Set<ProcessHandle> withDescendants(Stream<ProcessHandle> roots) {
    return roots
        .flatMap(root -> Stream.concat(root.descendants(), Stream.of(root)))
        .filter(ProcessGroup::lives)
        .collect(Collectors.toSet());
  }

  /**
   * Polls: the JDK tells at once when a child has ended, but looks after other descendants only now
   * and then.
   */
  private static void await(Set<ProcessHandle> handles, Duration limit) {
    long deadline = System.nanoTime() + limit.toNanos();
    boolean interrupted = false;
    while (handles.stream().anyMatch(ProcessGroup::lives) && System.nanoTime() < deadline) {
      try {
        Thread.sleep(POLL_MILLIS);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * A process that has ended but whose parent has not asked how (a zombie) has no command any more,
   * and does not count.
   */
  private static boolean lives(ProcessHandle handle) {
    return handle.isAlive() && handle.info().command().isPresent();
  }
}
