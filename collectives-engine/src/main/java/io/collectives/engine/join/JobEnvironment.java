package io.collectives.engine.join;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.Repeatability;
import io.collectives.Security;
import io.collectives.TlsFiles;
import io.collectives.engine.choice.AlgorithmTable;
import io.collectives.internal.HostNames;
import io.collectives.spi.Algorithms;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the rank of a process and the settings of its job from the environment that its launcher
 * made.
 *
 * <p>The first of these whose rank is set wins, so that a variable that was set by hand wins over a
 * launcher's:
 *
 * <pre>
 *   torchrun         RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT
 *   Open MPI         OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
 *   PMI              PMI_RANK or PMI_ID, PMI_SIZE, MPI_LOCALNRANKS
 *   Slurm            SLURM_PROCID, SLURM_NTASKS or SLURM_NPROCS, SLURM_LOCALID
 *   Kubernetes       JOB_COMPLETION_INDEX, WORLD_SIZE or COLLECTIVES_SIZE
 * </pre>
 *
 * <p>The ranks meet where rank 0 is: at MASTER_ADDR and MASTER_PORT when these are set. Otherwise
 * on this host if the launcher started ranks on no other, on the first host of Slurm's list, or in
 * the first pod of Kubernetes' job; and on a port that every rank derives from the launcher's
 * number of the job. COLLECTIVES_RENDEZVOUS overrides all of that, and COLLECTIVES_JOB,
 * COLLECTIVES_TRANSPORT, COLLECTIVES_LISTEN, COLLECTIVES_TCP_PATHS, COLLECTIVES_JOIN_TIMEOUT,
 * COLLECTIVES_CALL_TIMEOUT, COLLECTIVES_SILENCE_LIMIT, COLLECTIVES_AUTO (rows for {@link
 * Algorithm#auto(String)}, or {@code @} and a file that holds them), COLLECTIVES_REPEATABILITY
 * (arrival-order, fastest, rank-order or exact, see {@link Repeatability}),
 * COLLECTIVES_FLIGHT_DIRECTORY, COLLECTIVES_FLIGHT_SITES (true or false), COLLECTIVES_TRACE and
 * COLLECTIVES_REPORT (directories), COLLECTIVES_MEMORY_DIRECTORY (of the transports {@code shm} and
 * {@code unix}), COLLECTIVES_STATUS (on or off, see {@link JobSettings#status}) and
 * COLLECTIVES_HOST (see {@link JobSettings#host}) what their names say. Empty variables count as
 * not set.
 *
 * <p>What keeps others out, see {@link Security}: COLLECTIVES_SECRET_FILE, a file that only its
 * owner may read, or COLLECTIVES_SECRET, the secret itself; COLLECTIVES_TLS_CERTIFICATE,
 * COLLECTIVES_TLS_KEY and COLLECTIVES_TLS_TRUST, files in PEM format; COLLECTIVES_CHECKSUMS, true
 * or false; and COLLECTIVES_INSECURE_ANYONE_MAY_JOIN, true or false. No error repeats the secret.
 *
 * <p>A rank listens where COLLECTIVES_LISTEN says. Otherwise it listens on loopback if the ranks
 * meet there. If they meet on another address, a rank of a job with a secret listens at the address
 * of its host by which it reaches rank 0, as with COLLECTIVES_LISTEN=auto. Without a secret this
 * would open a port to the network unasked, and loopback would make every peer wait in vain; so it
 * is an error.
 *
 * <p>One class because all of it reads one map of variables, and each error names the variables
 * that other launchers would have set.
 */
public final class JobEnvironment {
  /**
   * Derived ports lie below the range from which Linux, macOS and Windows take ports for outgoing
   * connections.
   */
  private static final int FIRST_DERIVED_PORT = 15_000;

  private static final int DERIVED_PORTS = 15_000;

  /** In Kubernetes each pod has ports of its own; this is the one that torchrun uses. */
  private static final int POD_PORT = 29_500;

  /** In settings, the address by which rank 0 is reached. */
  private static final String AUTO_LISTEN = "auto";

  private static final String JOIN_TIMEOUT = "COLLECTIVES_JOIN_TIMEOUT";
  private static final URI ANYWHERE = URI.create("tcp://localhost:1");
  private static final int LONGEST_JOB_NAME = 128;
  private static final Duration LONGEST_TIMEOUT = Duration.ofDays(365);
  private static final Pattern SECONDS = Pattern.compile("\\d{1,9}(\\.\\d{1,9})?");
  private static final Pattern LISTEN =
      Pattern.compile(
          "\\[(?<v6>[0-9A-Fa-f:.%]+)](:(?<v6port>\\d+))?|(?<host>[^:\\[\\]\\s]+)(:(?<port>\\d+))?");
  private static final Pattern BARE_V6 =
      Pattern.compile("[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.%]*");
  private static final Pattern LOOPBACK =
      Pattern.compile("localhost|127(\\.\\d{1,3}){3}|::1|0:0:0:0:0:0:0:1");

  /**
   * The variables in which launchers say the rank, or, of a job that is described in part, the
   * size.
   */
  private static final List<String> DESCRIPTIONS =
      List.of(
          "RANK",
          "WORLD_SIZE",
          "OMPI_COMM_WORLD_RANK",
          "OMPI_COMM_WORLD_SIZE",
          "PMI_RANK",
          "PMI_ID",
          "PMI_SIZE",
          "SLURM_PROCID",
          "JOB_COMPLETION_INDEX");

  private static final String[] TLS_FILES = {
    "COLLECTIVES_TLS_CERTIFICATE", "COLLECTIVES_TLS_KEY", "COLLECTIVES_TLS_TRUST"
  };

  private final Map<String, String> variables;
  private final Predicate<String> loopback;

  private JobEnvironment(Map<String, String> variables, Predicate<String> loopback) {
    this.variables = variables;
    this.loopback = loopback;
  }

  /**
   * Returns whether an environment has anything of a description of a job. A shell within an
   * allocation of Slurm has not: {@code srun} says the rank.
   */
  public static boolean describesJob(Map<String, String> environment) {
    JobEnvironment variables = new JobEnvironment(environment, host -> false);
    return DESCRIPTIONS.stream().anyMatch(variables::has);
  }

  /**
   * Returns the settings that an environment describes; names of hosts are looked up by the system.
   *
   * @throws JoinException naming the variables that are missing or wrong, or that were looked for
   *     in vain
   */
  public static JobSettings settings(Map<String, String> environment) {
    JobEnvironment variables = new JobEnvironment(environment, host -> false);
    Duration limit = variables.duration(JOIN_TIMEOUT, JobSettings.of(0, 1, ANYWHERE).joinTimeout());
    return settings(environment, host -> resolvesToLoopback(host, limit));
  }

  /**
   * Returns the settings that {@link #settings(Map)} would, with nothing asked of the system.
   *
   * @param loopback whether a name of a host stands for a loopback address of this one
   */
  public static JobSettings settings(Map<String, String> environment, Predicate<String> loopback) {
    return new JobEnvironment(environment, loopback).settings();
  }

  /**
   * Returns what an environment says of secret and certificates, whatever else it has.
   *
   * @throws JoinException naming the variables that are wrong
   */
  public static Security security(Map<String, String> environment) {
    return new JobEnvironment(environment, host -> false).security();
  }

  /**
   * The description of a rank by its launcher.
   *
   * @param place where the ranks meet, asked only when COLLECTIVES_RENDEZVOUS does not say it
   */
  private record LaunchedRank(int rank, int size, String job, Supplier<URI> place) {}

  private JobSettings settings() {
    LaunchedRank launched = launchedRank();
    URI rendezvous = has("COLLECTIVES_RENDEZVOUS") ? rendezvous() : launched.place.get();
    JobSettings settings =
        JobSettings.of(launched.rank, launched.size, rendezvous)
            .withJob(launched.job)
            .withCalls(calls())
            .withSecurity(security());
    settings = settings.withJoinTimeout(duration(JOIN_TIMEOUT, settings.joinTimeout()));
    if (has("COLLECTIVES_JOB")) {
      try {
        settings = settings.withJob(value("COLLECTIVES_JOB"));
      } catch (IllegalArgumentException e) {
        throw wrong("COLLECTIVES_JOB", message(e));
      }
    }
    if (has("COLLECTIVES_TRANSPORT")) {
      settings = settings.withTransport(value("COLLECTIVES_TRANSPORT"));
    }
    if (has("COLLECTIVES_MEMORY_DIRECTORY")) {
      settings = settings.withMemoryDirectory(path("COLLECTIVES_MEMORY_DIRECTORY"));
    }
    if (has("COLLECTIVES_HOST")) {
      try {
        settings = settings.withHost(value("COLLECTIVES_HOST"));
      } catch (IllegalArgumentException e) {
        throw wrong("COLLECTIVES_HOST", message(e));
      }
    }
    if (has("COLLECTIVES_STATUS")) {
      settings = settings.withStatus(isOn("COLLECTIVES_STATUS"));
    }
    return withPaths(listens(settings, rendezvous));
  }

  private JobSettings withPaths(JobSettings settings) {
    if (!has("COLLECTIVES_TCP_PATHS")) {
      return settings;
    }
    int paths = number("COLLECTIVES_TCP_PATHS", value("COLLECTIVES_TCP_PATHS"), 1, 16);
    try {
      return settings.withPaths(paths);
    } catch (IllegalArgumentException e) {
      throw wrong("COLLECTIVES_TCP_PATHS", message(e));
    }
  }

  private JobSettings listens(JobSettings settings, URI rendezvous) {
    if (has("COLLECTIVES_LISTEN")) {
      return listening(settings);
    }
    String host = rendezvous.getHost();
    if ("tcp".equals(rendezvous.getScheme()) && !isLoopback(host)) {
      if (settings.security().allowsOtherHosts()) {
        return settings.withListen(AUTO_LISTEN, 0);
      }
      throw new JoinException(
          "the ranks meet at "
              + rendezvous
              + ", which is no loopback address, and the job has no secret, so that whoever "
              + "reaches that address could join; set COLLECTIVES_SECRET_FILE to the same secret "
              + "on all ranks, and each rank listens at the address by which it reaches rank 0, or "
              + "at COLLECTIVES_LISTEN; or set MASTER_ADDR=localhost if all ranks are on this "
              + "host");
    }
    return settings;
  }

  private CallSettings calls() {
    CallSettings calls = CallSettings.defaults();
    calls = calls.withTimeout(duration("COLLECTIVES_CALL_TIMEOUT", calls.timeout()));
    calls = calls.withSilenceLimit(duration("COLLECTIVES_SILENCE_LIMIT", calls.silenceLimit()));
    if (has("COLLECTIVES_REPEATABILITY")) {
      calls = calls.withRepeatability(repeatability());
    }
    if (has("COLLECTIVES_AUTO")) {
      calls = calls.withAlgorithm(auto());
    }
    if (has("COLLECTIVES_FLIGHT_DIRECTORY")) {
      calls = calls.withFlightDirectory(path("COLLECTIVES_FLIGHT_DIRECTORY"));
    }
    calls = calls.withCallSites(flag("COLLECTIVES_FLIGHT_SITES"));
    if (has("COLLECTIVES_TRACE")) {
      calls = calls.withTraceDirectory(path("COLLECTIVES_TRACE"));
    }
    if (has("COLLECTIVES_REPORT")) {
      calls = calls.withReportDirectory(path("COLLECTIVES_REPORT"));
    }
    return calls;
  }

  private Algorithm auto() {
    String text = value("COLLECTIVES_AUTO");
    String source = "COLLECTIVES_AUTO";
    try {
      if (text.startsWith("@")) {
        source = text.substring(1);
        text = Files.readString(Path.of(source));
      }
      Algorithm.Auto auto = new Algorithm.Auto(text, source);
      if (!text.equals(Algorithm.Auto.SHIPPED)) {
        AlgorithmTable.parse(auto, Algorithms.onClassPath());
      }
      return auto;
    } catch (IOException | InvalidPathException e) {
      throw wrong("COLLECTIVES_AUTO", "the file cannot be read: " + e);
    } catch (IllegalArgumentException e) {
      throw new JoinException(message(e), e);
    }
  }

  private LaunchedRank launchedRank() {
    if (has("RANK")) {
      return torchrun();
    }
    if (has("OMPI_COMM_WORLD_RANK")) {
      return openMpi();
    }
    if (has("PMI_RANK") || has("PMI_ID")) {
      return pmi();
    }
    if (has("SLURM_PROCID")) {
      return slurm();
    }
    if (has("JOB_COMPLETION_INDEX")) {
      return kubernetes();
    }
    String[][] halves = {
      {"WORLD_SIZE", "RANK"},
      {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
      {"PMI_SIZE", "PMI_RANK"},
      {"SLURM_NTASKS", "SLURM_PROCID, which srun sets"},
      {"SLURM_NPROCS", "SLURM_PROCID, which srun sets"}
    };
    for (String[] half : halves) {
      if (has(half[0])) {
        throw new JoinException(
            half[0] + "=" + value(half[0]) + " is set, but the rank is not: missing is " + half[1]);
      }
    }
    throw new JoinException(
        "the environment describes no job: none of RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, PMI_ID, "
            + "SLURM_PROCID and"
            + " JOB_COMPLETION_INDEX is set; start the ranks with bin/collectives launch -n 4 -- "
            + "java …, or pass"
            + " JobSettings to Collectives.join");
  }

  private LaunchedRank torchrun() {
    List<String> missing = new ArrayList<>();
    List<String> needed =
        has("COLLECTIVES_RENDEZVOUS")
            ? List.of("WORLD_SIZE")
            : List.of("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT");
    for (String name : needed) {
      if (!has(name)) {
        missing.add(name);
      }
    }
    if (!missing.isEmpty()) {
      throw new JoinException(
          "RANK="
              + value("RANK")
              + " is set, but not what belongs to it: missing "
              + (missing.size() == 1 ? "is " : "are ")
              + String.join(", ", missing)
              + (has("MASTER_ADDR") && has("MASTER_PORT")
                  ? ""
                  : "; COLLECTIVES_RENDEZVOUS can stand for MASTER_ADDR and MASTER_PORT"));
    }
    int size = size("WORLD_SIZE");
    int rank = rank("RANK", "WORLD_SIZE", size);
    optional("LOCAL_RANK", size);
    return new LaunchedRank(
        rank, size, "default", () -> tcp(value("MASTER_ADDR"), "MASTER_ADDR", masterPort()));
  }

  /**
   * torchrun's agent may itself listen on MASTER_PORT; then the ranks meet on a port that follows
   * from it.
   */
  private int masterPort() {
    int port = number("MASTER_PORT", 1, 65_535);
    return Boolean.parseBoolean(variables.get("TORCHELASTIC_USE_AGENT_STORE"))
        ? derivedPort("torchrun-" + variables.getOrDefault("TORCHELASTIC_RUN_ID", "") + "-" + port)
        : port;
  }

  private LaunchedRank openMpi() {
    require("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    int size = size("OMPI_COMM_WORLD_SIZE");
    int rank = rank("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", size);
    int localRank = optional("OMPI_COMM_WORLD_LOCAL_RANK", size);
    boolean oneHost =
        has("OMPI_COMM_WORLD_LOCAL_SIZE")
            ? number("OMPI_COMM_WORLD_LOCAL_SIZE", 1, size) == size
            : localRank < 0 || localRank == rank;
    return launched(
        "Open MPI",
        "ompi",
        rank,
        size,
        oneHost,
        firstOf("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"));
  }

  private LaunchedRank pmi() {
    String rankName = has("PMI_RANK") ? "PMI_RANK" : "PMI_ID";
    require(rankName, "PMI_SIZE");
    int size = size("PMI_SIZE");
    int rank = rank(rankName, "PMI_SIZE", size);
    if (has("SLURM_PROCID")) {
      return new LaunchedRank(rank, size, slurmJob(), this::slurmPlace);
    }
    boolean oneHost = !has("MPI_LOCALNRANKS") || number("MPI_LOCALNRANKS", 1, size) == size;
    return launched("PMI", "pmi", rank, size, oneHost, firstOf("PMI_JOBID"));
  }

  private LaunchedRank launched(
      String launcher, String prefix, int rank, int size, boolean oneHost, @Nullable String id) {
    String job = id == null ? "default" : jobName(prefix + "-" + id);
    return new LaunchedRank(
        rank,
        size,
        job,
        () -> {
          if (!has("MASTER_ADDR") && !oneHost) {
            throw new JoinException(
                launcher
                    + " started ranks on several hosts and does not say where rank 0 is; set "
                    + "MASTER_ADDR and MASTER_PORT"
                    + " on all ranks, or COLLECTIVES_RENDEZVOUS");
          }
          if (!has("MASTER_PORT") && id == null) {
            throw new JoinException(
                launcher
                    + " does not say which job this is, so that no port can be derived from it; "
                    + "set MASTER_ADDR and"
                    + " MASTER_PORT on all ranks, or COLLECTIVES_RENDEZVOUS");
          }
          return place("localhost", job);
        });
  }

  private LaunchedRank slurm() {
    String sizeName = has("SLURM_NTASKS") || !has("SLURM_NPROCS") ? "SLURM_NTASKS" : "SLURM_NPROCS";
    require("SLURM_PROCID", sizeName);
    int size = size(sizeName);
    int rank = rank("SLURM_PROCID", sizeName, size);
    optional("SLURM_LOCALID", size);
    return new LaunchedRank(rank, size, slurmJob(), this::slurmPlace);
  }

  private String slurmJob() {
    String id = firstOf("SLURM_JOB_ID", "SLURM_JOBID");
    return id == null
        ? "default"
        : jobName("slurm-" + id + (has("SLURM_STEP_ID") ? "." + value("SLURM_STEP_ID") : ""));
  }

  private URI slurmPlace() {
    String first = "localhost";
    if (!has("MASTER_ADDR")) {
      String name = firstSet("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST");
      if (name == null) {
        throw new JoinException(
            "Slurm does not say which hosts the job has: missing is SLURM_JOB_NODELIST; set "
                + "MASTER_ADDR and MASTER_PORT"
                + " on all ranks, or COLLECTIVES_RENDEZVOUS");
      }
      try {
        NodeList hosts = NodeList.parse(value(name));
        first = hosts.single() ? "localhost" : hosts.first();
      } catch (IllegalArgumentException e) {
        throw wrong(name, message(e));
      }
    }
    if (!has("MASTER_PORT") && firstSet("SLURM_JOB_ID", "SLURM_JOBID") == null) {
      throw new JoinException(
          "Slurm does not say which job this is, so that no port can be derived from it: missing "
              + "is SLURM_JOB_ID; set"
              + " MASTER_PORT on all ranks, or COLLECTIVES_RENDEZVOUS");
    }
    return place(first, slurmJob());
  }

  private LaunchedRank kubernetes() {
    String sizeName = has("WORLD_SIZE") ? "WORLD_SIZE" : "COLLECTIVES_SIZE";
    if (!has(sizeName)) {
      throw new JoinException(
          "JOB_COMPLETION_INDEX="
              + value("JOB_COMPLETION_INDEX")
              + " is set, but the number of ranks is not: missing is WORLD_SIZE or "
              + "COLLECTIVES_SIZE; give it the job's"
              + " completions");
    }
    int size = size(sizeName);
    int rank = rank("JOB_COMPLETION_INDEX", sizeName, size);
    String suffix = "-" + rank;
    String pod = variables.getOrDefault("HOSTNAME", "").strip();
    @Nullable String job =
        pod.endsWith(suffix) && pod.length() > suffix.length()
            ? pod.substring(0, pod.length() - suffix.length())
            : null;
    return new LaunchedRank(
        rank,
        size,
        job == null ? "default" : jobName(job),
        () -> {
          if (has("MASTER_ADDR")) {
            return tcp(value("MASTER_ADDR"), "MASTER_ADDR", podPort());
          }
          if (job == null || !has("COLLECTIVES_SERVICE")) {
            throw new JoinException(
                "Kubernetes does not say where rank 0 is; set COLLECTIVES_SERVICE to the name of "
                    + "the job's headless"
                    + " service, with HOSTNAME="
                    + (job == null ? "<job>" + suffix : pod)
                    + (job == null && !pod.isEmpty() ? " instead of " + pod : "")
                    + ", or MASTER_ADDR");
          }
          return tcp(
              job + "-0." + value("COLLECTIVES_SERVICE"),
              "HOSTNAME, COLLECTIVES_SERVICE",
              podPort());
        });
  }

  private int podPort() {
    return has("MASTER_PORT") ? number("MASTER_PORT", 1, 65_535) : POD_PORT;
  }

  private URI place(String address, String job) {
    return tcp(
        has("MASTER_ADDR") ? value("MASTER_ADDR") : address,
        "MASTER_ADDR",
        has("MASTER_PORT") ? number("MASTER_PORT", 1, 65_535) : derivedPort(job));
  }

  private static int derivedPort(String job) {
    return FIRST_DERIVED_PORT + Math.floorMod(job.hashCode(), DERIVED_PORTS);
  }

  private static URI tcp(String host, String source, int port) {
    try {
      return new URI("tcp", null, host, port, null, null, null);
    } catch (URISyntaxException e) {
      throw new JoinException(
          source
              + "="
              + host
              + ": not a name or an address of a host (letters, digits, dots and dashes)",
          e);
    }
  }

  private URI rendezvous() {
    String text = value("COLLECTIVES_RENDEZVOUS");
    try {
      URI uri = new URI(text);
      boolean complete =
          uri.getScheme() != null
              && (!uri.getScheme().equals("tcp")
                  || uri.getHost() != null && uri.getPort() > 0 && uri.getPort() <= 65_535)
              && (!uri.getScheme().equals("file")
                  || uri.getPath() != null && uri.getPath().startsWith("/"));
      if (complete) {
        return uri;
      }
    } catch (URISyntaxException e) {
      throw wrong(
          "COLLECTIVES_RENDEZVOUS",
          e.getReason() + "; needed is tcp://host:port or file:///directory");
    }
    throw wrong("COLLECTIVES_RENDEZVOUS", "needed is tcp://host:port or file:///directory");
  }

  private JobSettings listening(JobSettings settings) {
    String text = value("COLLECTIVES_LISTEN");
    if (BARE_V6.matcher(text).matches()) {
      return settings.withListen(text, 0);
    }
    Matcher matcher = LISTEN.matcher(text);
    if (!matcher.matches()) {
      throw wrong("COLLECTIVES_LISTEN", "needed is host, host:port or [v6-address]:port");
    }
    String host = matcher.group("v6") != null ? matcher.group("v6") : matcher.group("host");
    String port = matcher.group("v6") != null ? matcher.group("v6port") : matcher.group("port");
    return settings.withListen(
        host, port == null ? 0 : number("COLLECTIVES_LISTEN", port, 0, 65_535));
  }

  private Security security() {
    Security security = Security.none().withChecksums(flag("COLLECTIVES_CHECKSUMS"));
    if (flag("COLLECTIVES_INSECURE_ANYONE_MAY_JOIN")) {
      security = security.insecureAnyoneMayJoin();
    }
    if (has("COLLECTIVES_SECRET_FILE") && has("COLLECTIVES_SECRET")) {
      throw new JoinException(
          "both COLLECTIVES_SECRET_FILE and COLLECTIVES_SECRET are set: one of them is needed");
    }
    if (has("COLLECTIVES_SECRET_FILE")) {
      security = security.withSecret(JobSecret.read(path("COLLECTIVES_SECRET_FILE")));
    } else if (has("COLLECTIVES_SECRET")) {
      try {
        security = security.withSecret(JobSecret.of(value("COLLECTIVES_SECRET")));
      } catch (IllegalArgumentException e) {
        throw new JoinException("COLLECTIVES_SECRET holds " + e.getMessage());
      }
    }
    return firstSet(TLS_FILES) == null ? security : security.withTls(tls());
  }

  private TlsFiles tls() {
    for (String name : TLS_FILES) {
      if (!has(name)) {
        throw new JoinException(
            firstSet(TLS_FILES)
                + " is set, but not what belongs to it: missing is "
                + name
                + "; TLS needs a certificate, its key, and the certificates that are trusted");
      }
    }
    return new TlsFiles(path(TLS_FILES[0]), path(TLS_FILES[1]), path(TLS_FILES[2]));
  }

  private Path path(String name) {
    try {
      return Path.of(value(name));
    } catch (InvalidPathException e) {
      throw wrong(name, "needed is the name of a file");
    }
  }

  private boolean flag(String name) {
    String text = has(name) ? value(name) : "false";
    if (!text.equals("true") && !text.equals("false")) {
      throw wrong(name, "needed is true or false");
    }
    return text.equals("true");
  }

  private boolean isOn(String name) {
    String text = value(name);
    if (!text.equals("on") && !text.equals("off")) {
      throw wrong(name, "needed is on or off");
    }
    return text.equals("on");
  }

  private Repeatability repeatability() {
    String text = value("COLLECTIVES_REPEATABILITY");
    for (Repeatability repeatability : Repeatability.values()) {
      if (repeatability.toString().equals(text)) {
        return repeatability;
      }
    }
    throw wrong(
        "COLLECTIVES_REPEATABILITY", "needed is arrival-order, fastest, rank-order or exact");
  }

  private Duration duration(String name, Duration otherwise) {
    if (!has(name)) {
      return otherwise;
    }
    String text = value(name);
    try {
      Duration duration =
          SECONDS.matcher(text).matches()
              ? Duration.ofNanos(new BigDecimal(text).movePointRight(9).longValueExact())
              : Duration.parse(text);
      if (!duration.isNegative()
          && !duration.isZero()
          && duration.compareTo(LONGEST_TIMEOUT) <= 0) {
        return duration;
      }
    } catch (DateTimeParseException | ArithmeticException e) {
      // Said below.
    }
    throw wrong(
        name, "needed is a time of more than zero and at most 365 days, in seconds or as PT1M30S");
  }

  private void require(String present, String missing) {
    if (!has(missing)) {
      throw new JoinException(
          present
              + "="
              + value(present)
              + " is set, but the number of ranks is not: missing is "
              + missing);
    }
  }

  private int size(String name) {
    return number(name, 1, Integer.MAX_VALUE);
  }

  private int rank(String name, String sizeName, int size) {
    int rank = number(name, 0, Integer.MAX_VALUE);
    if (rank >= size) {
      throw wrong(name, "must be from 0 to " + (size - 1) + ", because " + sizeName + "=" + size);
    }
    return rank;
  }

  /** A rank on this host, which nothing but the check needs; -1 if it is not set. */
  private int optional(String name, int size) {
    return has(name) ? number(name, 0, size - 1) : -1;
  }

  private int number(String name, int least, int most) {
    return number(name, value(name), least, most);
  }

  private int number(String name, String digits, int least, int most) {
    try {
      int number = Integer.parseInt(digits);
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw wrong(name, "needed is a whole number from " + least + " to " + most);
  }

  private JoinException wrong(String name, String why) {
    return new JoinException(name + "=" + value(name) + ": " + why);
  }

  private static String message(IllegalArgumentException e) {
    return Objects.requireNonNullElseGet(e.getMessage(), e::toString);
  }

  private boolean has(String name) {
    return !variables.getOrDefault(name, "").isBlank();
  }

  private String value(String name) {
    return variables.getOrDefault(name, "").strip();
  }

  private @Nullable String firstSet(String... names) {
    for (String name : names) {
      if (has(name)) {
        return name;
      }
    }
    return null;
  }

  private @Nullable String firstOf(String... names) {
    String name = firstSet(names);
    return name == null ? null : value(name);
  }

  private static String jobName(String text) {
    String name = text.replaceAll("[^!-~]", "_");
    return name.substring(0, Math.min(name.length(), LONGEST_JOB_NAME));
  }

  private boolean isLoopback(String host) {
    String name = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    return LOOPBACK.matcher(name).matches() || loopback.test(name);
  }

  private static boolean resolvesToLoopback(String host, Duration limit) {
    try {
      return HostNames.lookUp(host, limit).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
