package io.collectives;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The settings with which a process joins a job: its rank, and how the ranks find each other. They
 * cannot be changed: each {@code with} method returns others, or throws an {@link
 * IllegalArgumentException} if a value is not allowed.
 */
public final class JobSettings {
  private static final URI EXCHANGE = URI.create("exchange:texts");
  private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  private final Values values;

  /** The values, which nothing changes once they belong to settings. */
  private static final class Values {
    String job = "default";
    final int rank;
    final int size;
    URI rendezvous;
    String transport = "auto";
    String listen = "localhost";
    int port;
    Duration joinTimeout = Duration.ofSeconds(60);
    CallSettings calls = CallSettings.defaults();
    Security security = Security.none();
    @Nullable Path memoryDirectory;
    @Nullable String host;
    boolean status = true;

    Values(int rank, int size, URI rendezvous) {
      this.rank = rank;
      this.size = size;
      this.rendezvous = rendezvous;
    }

    Values(Values other) {
      this(other.rank, other.size, other.rendezvous);
      job = other.job;
      transport = other.transport;
      listen = other.listen;
      port = other.port;
      joinTimeout = other.joinTimeout;
      calls = other.calls;
      security = other.security;
      memoryDirectory = other.memoryDirectory;
      host = other.host;
      status = other.status;
    }
  }

  private JobSettings(Values values) {
    check(values);
    this.values = values;
  }

  private static void check(Values values) {
    String job = values.job;
    if (job.isEmpty() || job.length() > 128 || !job.chars().allMatch(c -> c > ' ' && c < 127)) {
      throw new IllegalArgumentException(
          "job name \""
              + job
              + "\": allowed are 1 to 128 printable ASCII characters without spaces");
    }
    int rank = values.rank;
    int size = values.size;
    if (size < 1) {
      throw new IllegalArgumentException("job of " + size + " ranks: at least 1 is needed");
    }
    if (rank < 0 || rank >= size) {
      throw new IllegalArgumentException(
          "rank " + rank + " of a job of " + size + " ranks: must be from 0 to " + (size - 1));
    }
    Objects.requireNonNull(values.rendezvous, "rendezvous");
    Objects.requireNonNull(values.transport, "transport");
    Objects.requireNonNull(values.listen, "listen");
    Objects.requireNonNull(values.calls, "calls");
    Objects.requireNonNull(values.security, "security");
    if (values.port < 0 || values.port > 65535) {
      throw new IllegalArgumentException(
          "port " + values.port + ": must be from 0 (any free one) to 65535");
    }
    if (values.joinTimeout.isNegative() || values.joinTimeout.isZero()) {
      throw new IllegalArgumentException(
          "join timeout " + values.joinTimeout + ": must be more than zero");
    }
    String host = values.host;
    if (host != null && !HOST.matcher(host).matches()) {
      throw new IllegalArgumentException(
          "host \""
              + host
              + "\": allowed are 1 to 64 letters, digits, dots, dashes and underscores");
    }
  }

  /**
   * Returns settings with the default values: job {@code default}, transport {@code auto},
   * loopback, any port, 60 seconds to join, no security beyond that.
   *
   * @param rendezvous the place where the ranks find each other
   */
  public static JobSettings of(int rank, int size, URI rendezvous) {
    return new JobSettings(new Values(rank, size, rendezvous));
  }

  /**
   * Returns settings with the default values of a job whose ranks meet by a {@link TextExchange};
   * see {@link Collectives#join(JobSettings, TextExchange)}.
   */
  public static JobSettings of(int rank, int size) {
    return of(rank, size, EXCHANGE);
  }

  /** Returns the name of the job; ranks with another job name are refused. */
  public String job() {
    return values.job;
  }

  /** Returns these settings with another name of the job. */
  public JobSettings withJob(String other) {
    Values copy = new Values(values);
    copy.job = other;
    return new JobSettings(copy);
  }

  /** Returns this process's rank, from 0 to {@code size - 1}. */
  public int rank() {
    return values.rank;
  }

  /** Returns the number of ranks. */
  public int size() {
    return values.size;
  }

  /**
   * Returns the place where the ranks find each other: {@code tcp://host:port}, where rank 0
   * listens, {@code file:///directory}, a directory that all ranks see, or {@code exchange:texts},
   * which stands for a {@link TextExchange}.
   */
  public URI rendezvous() {
    return values.rendezvous;
  }

  /** Returns these settings with another place of the rendezvous. */
  public JobSettings withRendezvous(URI other) {
    Values copy = new Values(values);
    copy.rendezvous = other;
    return new JobSettings(copy);
  }

  /**
   * Returns the name of the transport: {@code auto}, with which each pair of ranks takes the
   * fastest transport that connects them, or {@code shm}, {@code unix} or {@code tcp} for all
   * pairs.
   */
  public String transport() {
    return values.transport;
  }

  /** Returns these settings with another transport. */
  public JobSettings withTransport(String other) {
    Values copy = new Values(values);
    copy.transport = other;
    return new JobSettings(copy);
  }

  /**
   * Returns the address or host name on which this rank accepts its peers; loopback by default;
   * {@code auto} is the address of this host by which rank 0 is reached, where {@code rendezvous}
   * is {@code tcp://}. Several, separated by commas, are as many paths; see {@link #withPaths}.
   */
  public String listen() {
    return values.listen;
  }

  /** Returns the port on which this rank accepts its peers, 0 for any free one. */
  public int port() {
    return values.port;
  }

  /** Returns these settings with another address and port to listen on. */
  public JobSettings withListen(String address, int otherPort) {
    Values copy = new Values(values);
    copy.listen = address;
    copy.port = otherPort;
    return new JobSettings(copy);
  }

  /** Returns the time to wait until all ranks have joined. */
  public Duration joinTimeout() {
    return values.joinTimeout;
  }

  /**
   * Returns these settings with several connections between each pair of ranks by TCP, over which
   * frames are sprayed (Herring, Thangakrishnan et al. 2020, section V-A). All ranks must have the
   * same number of them. More than one is worth it where hosts have several links, or where one
   * connection does not fill a link. Path i listens at address i of {@link #listen}, or, if there
   * are fewer addresses than paths, at the first ones again.
   *
   * @param paths from the number of addresses, or 1, to 16
   * @since 0.2.0
   */
  public JobSettings withPaths(int paths) {
    String[] addresses = values.listen.split(",", -1);
    if (paths < addresses.length || paths > 16) {
      throw new IllegalArgumentException(
          paths
              + " TCP paths to each rank, and "
              + addresses.length
              + " addresses to listen on: there must be from "
              + addresses.length
              + " to 16 paths");
    }
    StringBuilder all = new StringBuilder(values.listen);
    for (int path = addresses.length; path < paths; path++) {
      all.append(',').append(addresses[path % addresses.length]);
    }
    return withListen(all.toString(), values.port);
  }

  /** Returns these settings with another time limit for joining. */
  public JobSettings withJoinTimeout(Duration other) {
    Values copy = new Values(values);
    copy.joinTimeout = other;
    return new JobSettings(copy);
  }

  /** Returns the settings of the communicator's calls. */
  public CallSettings calls() {
    return values.calls;
  }

  /** Returns these settings with other settings of calls. */
  public JobSettings withCalls(CallSettings other) {
    Values copy = new Values(values);
    copy.calls = other;
    return new JobSettings(copy);
  }

  /** Returns the protection against processes that do not belong to the job. */
  public Security security() {
    return values.security;
  }

  /** Returns these settings with other security settings. */
  public JobSettings withSecurity(Security other) {
    Values copy = new Values(values);
    copy.security = other;
    return new JobSettings(copy);
  }

  /**
   * Returns the directory in which the transports {@code shm} and {@code unix} make directories of
   * mapped files; null for the default, which is in memory where the host has such a file system.
   */
  public @Nullable Path memoryDirectory() {
    return values.memoryDirectory;
  }

  /** Returns these settings with another directory for memory that ranks share. */
  public JobSettings withMemoryDirectory(Path other) {
    Values copy = new Values(values);
    copy.memoryDirectory = Objects.requireNonNull(other);
    return new JobSettings(copy);
  }

  /**
   * Returns the host name that the transport {@code auto} uses for this rank: ranks with different
   * names use neither shared memory nor Unix-domain sockets, wherever they run; 1 to 64 letters,
   * digits, dots, dashes and underscores, or null.
   */
  public @Nullable String host() {
    return values.host;
  }

  /** Returns these settings with another name of this rank's host. */
  public JobSettings withHost(String other) {
    Values copy = new Values(values);
    copy.host = Objects.requireNonNull(other);
    return new JobSettings(copy);
  }

  /**
   * Returns whether other processes of this user may ask what this rank does, as {@code
   * bin/collectives status} does.
   *
   * @since 0.2.0
   */
  public boolean status() {
    return values.status;
  }

  /**
   * Returns these settings with or without answers to other processes of this user that ask what
   * this rank does.
   *
   * @since 0.2.0
   */
  public JobSettings withStatus(boolean other) {
    Values copy = new Values(values);
    copy.status = other;
    return new JobSettings(copy);
  }

  /** Returns the values, for people. */
  @Override
  public String toString() {
    return "job="
        + values.job
        + ", rank="
        + values.rank
        + ", size="
        + values.size
        + ", rendezvous="
        + values.rendezvous
        + ", transport="
        + values.transport
        + ", listen="
        + values.listen
        + ", port="
        + values.port
        + ", joinTimeout="
        + values.joinTimeout
        + ", calls="
        + values.calls
        + ", security="
        + values.security
        + ", memoryDirectory="
        + values.memoryDirectory
        + ", host="
        + values.host
        + ", status="
        + values.status;
  }
}
