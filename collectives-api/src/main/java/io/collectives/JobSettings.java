package io.collectives;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which seat this process takes in which job, and how the ranks find each other.
 *
 * @param job the name of the job; ranks of another name are refused
 * @param rank this process's rank, from 0 to {@code size - 1}
 * @param size the number of ranks
 * @param rendezvous where the ranks meet: {@code tcp://host:port}, where rank 0 listens, or {@code
 *     file:///directory}, a directory that all ranks see
 * @param transport the name of the transport, as {@code tcp}, {@code unix} or {@code shm}
 * @param listen the address, or name of one, on which this rank accepts its peers; loopback unless
 *     told otherwise
 * @param port the port on which this rank accepts its peers, 0 for any free one
 * @param joinTimeout how long to wait until all ranks have met
 * @param calls what the communicator does unless a call says otherwise
 * @param security what keeps others out
 * @param memoryDirectory where the transports {@code shm} and {@code unix} make their directories,
 *     in which files are mapped; nothing for the usual place, in memory where the host has such a
 *     file system
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
    @Nullable Path memoryDirectory) {

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
  }

  /**
   * Settings with the usual values: job {@code default}, transport {@code tcp}, loopback, any port,
   * 60 seconds to join, no security beyond that.
   *
   * @param rendezvous where the ranks meet
   */
  public static JobSettings of(int rank, int size, URI rendezvous) {
    return new JobSettings(
        "default",
        rank,
        size,
        rendezvous,
        "tcp",
        "localhost",
        0,
        Duration.ofSeconds(60),
        CallSettings.defaults(),
        Security.none(),
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
        memoryDirectory);
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
        memoryDirectory);
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
        memoryDirectory);
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
        memoryDirectory);
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
        memoryDirectory);
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
        memoryDirectory);
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
        Objects.requireNonNull(other));
  }
}
