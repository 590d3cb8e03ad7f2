package io.collectives;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which seat this process takes in which job, and how the ranks find each other.
 *
 * @param job the name of the job; ranks of another name are refused
 * @param rank this process's rank, from 0 to {@code size - 1}
 * @param size the number of ranks
 * @param rendezvous where the ranks meet: {@code tcp://host:port}, where rank 0 listens, or {@code
 *     file:///directory}, a directory that all ranks see
 * @param transport the name of the transport: {@code auto}, with which each pair of ranks takes the
 *     fastest that reaches from one to the other, or {@code shm}, {@code unix} or {@code tcp} for
 *     all pairs
 * @param listen the address, or name of one, on which this rank accepts its peers; loopback unless
 *     told otherwise
 * @param port the port on which this rank accepts its peers, 0 for any free one
 * @param joinTimeout how long to wait until all ranks have met
 * @param calls what the communicator does unless a call says otherwise
 * @param security what keeps others out
 * @param memoryDirectory where the transports {@code shm} and {@code unix} make their directories,
 *     in which files are mapped; nothing for the usual place, in memory where the host has such a
 *     file system
 * @param host what {@code auto} is to take this rank's host for: ranks that give different names do
 *     not share memory or Unix-domain sockets, wherever they are; 1 to 64 letters, digits, dots,
 *     dashes and underscores, or nothing
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
    @Nullable String host) {

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

  /**
   * Settings with the usual values: job {@code default}, transport {@code auto}, loopback, any
   * port, 60 seconds to join, no security beyond that.
   *
   * @param rendezvous where the ranks meet
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
        null);
  }

  /** The same with another name of the job. */
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
        host);
  }

  /** The same with another transport. */
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
        host);
  }

  /** The same with another address and port to listen on. */
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
        host);
  }

  /** The same with another time limit for joining. */
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
        host);
  }

  /** The same with other defaults for calls. */
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
        host);
  }

  /** The same with other security. */
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
        host);
  }

  /** The same with another directory for memory that ranks share. */
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
        host);
  }

  /** The same with another name of this rank's host. */
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
        Objects.requireNonNull(other));
  }
}
