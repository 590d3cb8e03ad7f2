package io.collectives;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The settings with which a process joins a job: its rank, and how the ranks find each other.
 *
 * @param job the name of the job; ranks with another job name are refused
 * @param rank this process's rank, from 0 to {@code size - 1}
 * @param size the number of ranks
 * @param rendezvous the place where the ranks find each other: {@code tcp://host:port}, where rank
 *     0 listens, {@code file:///directory}, a directory that all ranks see, or {@code
 *     exchange:texts}, which stands for a {@link TextExchange}
 * @param transport the name of the transport: {@code auto}, with which each pair of ranks takes the
 *     fastest transport that connects them, or {@code shm}, {@code unix} or {@code tcp} for all
 *     pairs
 * @param listen the address or host name on which this rank accepts its peers; loopback by default;
 *     {@code auto} is the address of this host by which rank 0 is reached, where {@code rendezvous}
 *     is {@code tcp://}
 * @param port the port on which this rank accepts its peers, 0 for any free one
 * @param joinTimeout the time to wait until all ranks have joined
 * @param calls the settings of the communicator's calls
 * @param security the protection against processes that do not belong to the job
 * @param memoryDirectory the directory in which the transports {@code shm} and {@code unix} make
 *     directories of mapped files; null for the default, which is in memory where the host has such
 *     a file system
 * @param host the host name that the transport {@code auto} uses for this rank: ranks with
 *     different names use neither shared memory nor Unix-domain sockets, wherever they run; 1 to 64
 *     letters, digits, dots, dashes and underscores, or null
 * @param status whether other processes of this user may ask what this rank does, as {@code
 *     bin/collectives status} does; since 0.2.0
 */
public record JobSettings(
    String job,
    int rank,
    int size,
    URI rendezvous,
    String transport,
    String listen,
    int port,
    Duration joinTimeout,
    CallSettings calls,
    Security security,
    @Nullable Path memoryDirectory,
    @Nullable String host,
    boolean status) {

  private static final URI EXCHANGE = URI.create("exchange:texts");
  private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  /** Checks the values. */
  public JobSettings {
    if (job.isEmpty() || job.length() > 128 || !job.chars().allMatch(c -> c > ' ' && c < 127)) {
      throw new IllegalArgumentException(
          "job name \""
              + job
              + "\": allowed are 1 to 128 printable ASCII characters without spaces");
    }
    if (size < 1) {
      throw new IllegalArgumentException("job of " + size + " ranks: at least 1 is needed");
    }
    if (rank < 0 || rank >= size) {
      throw new IllegalArgumentException(
          "rank " + rank + " of a job of " + size + " ranks: must be from 0 to " + (size - 1));
    }
    Objects.requireNonNull(rendezvous, "rendezvous");
    Objects.requireNonNull(transport, "transport");
    Objects.requireNonNull(listen, "listen");
    Objects.requireNonNull(calls, "calls");
    Objects.requireNonNull(security, "security");
    if (port < 0 || port > 65535) {
      throw new IllegalArgumentException(
          "port " + port + ": must be from 0 (any free one) to 65535");
    }
    if (joinTimeout.isNegative() || joinTimeout.isZero()) {
      throw new IllegalArgumentException(
          "join timeout " + joinTimeout + ": must be more than zero");
    }
    if (host != null && !HOST.matcher(host).matches()) {
      throw new IllegalArgumentException(
          "host \""
              + host
              + "\": allowed are 1 to 64 letters, digits, dots, dashes and underscores");
    }
  }

  /** Settings of a rank that answers to other processes of its user. */
  public JobSettings(
      String job,
      int rank,
      int size,
      URI rendezvous,
      String transport,
      String listen,
      int port,
      Duration joinTimeout,
      CallSettings calls,
      Security security,
      @Nullable Path memoryDirectory,
      @Nullable String host) {
    this(
        job,
        rank,
        size,
        rendezvous,
        transport,
        listen,
        port,
        joinTimeout,
        calls,
        security,
        memoryDirectory,
        host,
        true);
  }

  /**
   * Returns settings with the default values: job {@code default}, transport {@code auto},
   * loopback, any port, 60 seconds to join, no security beyond that.
   *
   * @param rendezvous the place where the ranks find each other
   */
  public static JobSettings of(int rank, int size, URI rendezvous) {
    return new JobSettings(
        "default",
        rank,
        size,
        rendezvous,
        "auto",
        "localhost",
        0,
        Duration.ofSeconds(60),
        CallSettings.defaults(),
        Security.none(),
        null,
        null,
        true);
  }

  /**
   * Returns settings with the default values of a job whose ranks meet by a {@link TextExchange};
   * see {@link Collectives#join(JobSettings, TextExchange)}.
   */
  public static JobSettings of(int rank, int size) {
    return of(rank, size, EXCHANGE);
  }

  /** Returns these settings with another name of the job. */
  public JobSettings withJob(String other) {
    return new JobSettings(
        other,
        rank,
        size,
        rendezvous,
        transport,
        listen,
        port,
        joinTimeout,
        calls,
        security,
        memoryDirectory,
        host,
        status);
  }

  /** Returns these settings with another place of the rendezvous. */
  public JobSettings withRendezvous(URI other) {
    return new JobSettings(
        job,
        rank,
        size,
        other,
        transport,
        listen,
        port,
        joinTimeout,
        calls,
        security,
        memoryDirectory,
        host,
        status);
  }

  /** Returns these settings with another transport. */
  public JobSettings withTransport(String other) {
    return new JobSettings(
        job,
        rank,
        size,
        rendezvous,
        other,
        listen,
        port,
        joinTimeout,
        calls,
        security,
        memoryDirectory,
        host,
        status);
  }

  /** Returns these settings with another address and port to listen on. */
  public JobSettings withListen(String address, int otherPort) {
    return new JobSettings(
        job,
        rank,
        size,
        rendezvous,
        transport,
        address,
        otherPort,
        joinTimeout,
        calls,
        security,
        memoryDirectory,
        host,
        status);
  }

  /** Returns these settings with another time limit for joining. */
  public JobSettings withJoinTimeout(Duration other) {
    return new JobSettings(
        job,
        rank,
        size,
        rendezvous,
        transport,
        listen,
        port,
        other,
        calls,
        security,
        memoryDirectory,
        host,
        status);
  }

  /** Returns these settings with other settings of calls. */
  public JobSettings withCalls(CallSettings other) {
    return new JobSettings(
        job,
        rank,
        size,
        rendezvous,
        transport,
        listen,
        port,
        joinTimeout,
        other,
        security,
        memoryDirectory,
        host,
        status);
  }

  /** Returns these settings with other security settings. */
  public JobSettings withSecurity(Security other) {
    return new JobSettings(
        job,
        rank,
        size,
        rendezvous,
        transport,
        listen,
        port,
        joinTimeout,
        calls,
        other,
        memoryDirectory,
        host,
        status);
  }

  /** Returns these settings with another directory for memory that ranks share. */
  public JobSettings withMemoryDirectory(Path other) {
    return new JobSettings(
        job,
        rank,
        size,
        rendezvous,
        transport,
        listen,
        port,
        joinTimeout,
        calls,
        security,
        Objects.requireNonNull(other),
        host,
        status);
  }

  /** Returns these settings with another name of this rank's host. */
  public JobSettings withHost(String other) {
    return new JobSettings(
        job,
        rank,
        size,
        rendezvous,
        transport,
        listen,
        port,
        joinTimeout,
        calls,
        security,
        memoryDirectory,
        Objects.requireNonNull(other),
        status);
  }

  /**
   * Returns these settings with or without answers to other processes of this user that ask what
   * this rank does.
   *
   * @since 0.2.0
   */
  public JobSettings withStatus(boolean other) {
    return new JobSettings(
        job,
        rank,
        size,
        rendezvous,
        transport,
        listen,
        port,
        joinTimeout,
        calls,
        security,
        memoryDirectory,
        host,
        other);
  }
}
