package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.TextExchange;
import io.collectives.UnavailableException;
import io.collectives.engine.auto.AutoTransportProvider;
import io.collectives.engine.choice.AlgorithmTable;
import io.collectives.engine.choice.Locality;
import io.collectives.engine.inprocess.InProcessFabric;
import io.collectives.engine.join.ExchangeRendezvous;
import io.collectives.engine.join.JobEnvironment;
import io.collectives.engine.report.RunReporter;
import io.collectives.engine.run.Engine;
import io.collectives.engine.run.Group;
import io.collectives.engine.status.StatusServer;
import io.collectives.internal.Log;
import io.collectives.internal.Services;
import io.collectives.spi.Algorithms;
import io.collectives.spi.CollectivesRuntime;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.RendezvousProvider;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The runtime of this module; see {@link CollectivesRuntime}. */
public final class EngineRuntime implements CollectivesRuntime {
  private static final Log LOG = Log.of(EngineRuntime.class);
  private static final int[] NO_HOSTS = {};

  @Override
  public boolean describesJob(Map<String, String> environment) {
    return JobEnvironment.describesJob(environment);
  }

  @Override
  public JobSettings settings(Map<String, String> environment) {
    return JobEnvironment.settings(environment);
  }

  @Override
  public Communicator join(JobSettings settings, UnaryOperator<Transport> wrapping) {
    return joining(settings, wrapping, rendezvous -> {}, EngineRuntime::rendezvous, null);
  }

  @Override
  public Communicator join(
      JobSettings settings, TextExchange exchange, UnaryOperator<Transport> wrapping) {
    return joining(
        settings.withRendezvous(ExchangeRendezvous.PLACE),
        wrapping,
        rendezvous -> {},
        place -> new ExchangeRendezvous(exchange),
        null);
  }

  /** See {@link World.Joining}. */
  private Communicator joinAgain(
      JobSettings settings,
      UnaryOperator<Transport> wrapping,
      Consumer<Rendezvous> onRendezvous,
      @Nullable RunReporter reporter) {
    return joining(settings, wrapping, onRendezvous, EngineRuntime::rendezvous, reporter);
  }

  private Communicator joining(
      JobSettings settings,
      UnaryOperator<Transport> wrapping,
      Consumer<Rendezvous> onRendezvous,
      Function<JobSettings, Rendezvous> opening,
      @Nullable RunReporter reporter) {
    TransportProvider.Endpoint endpoint = transport(settings.transport()).listen(settings);
    try (endpoint;
        Rendezvous rendezvous = opening.apply(settings)) {
      onRendezvous.accept(rendezvous);
      Roster roster =
          rendezvous.meet(
              new Rendezvous.Announcement(
                  settings.job(),
                  settings.rank(),
                  settings.size(),
                  Rendezvous.PROTOCOL_VERSION,
                  settings.transport() + ofTable(settings.calls().algorithm()),
                  endpoint.address(),
                  "process "
                      + ProcessHandle.current().pid()
                      + " at "
                      + endpoint.address().split(" ")[0]),
              settings.joinTimeout());
      boolean mixes = settings.transport().equals(AutoTransportProvider.NAME);
      return world(
          wrapping.apply(endpoint.open(roster)),
          settings.calls(),
          neighbours(roster, settings.rank()),
          mixes ? AutoTransportProvider.hosts(roster) : NO_HOSTS,
          new Joined(settings, roster),
          wrapping,
          reporter);
    }
  }

  @Override
  public List<Communicator> inProcess(
      int ranks, CallSettings calls, UnaryOperator<Transport> wrapping) {
    InProcessFabric fabric = new InProcessFabric(ranks);
    List<Communicator> worlds = new ArrayList<>();
    try {
      for (int rank = 0; rank < ranks; rank++) {
        worlds.add(
            world(
                wrapping.apply(fabric.transport(rank)),
                calls,
                ranks,
                NO_HOSTS,
                null,
                wrapping,
                null));
      }
    } catch (RuntimeException | Error e) {
      worlds.forEach(Communicator::close);
      throw e;
    }
    return worlds;
  }

  /** The job that a rank has joined, and where its ranks listen. */
  private record Joined(JobSettings settings, Roster roster) {}

  private Communicator world(
      Transport transport,
      CallSettings given,
      int neighbours,
      int[] hosts,
      @Nullable Joined joined,
      UnaryOperator<Transport> wrapping,
      @Nullable RunReporter earlier) {
    JobSettings job = joined == null ? null : joined.settings;
    CallSettings calls = Locality.of(transport).resolved(given);
    boolean oversubscribed = neighbours > Runtime.getRuntime().availableProcessors();
    int size = transport.size();
    long heldLimit = Engine.heldLimit(size, calls.frameLength(), calls.slabsInFlight());
    Driver driver =
        new Driver(
            new Engine(
                transport,
                System::nanoTime,
                heldLimit,
                calls.silenceLimit().toNanos(),
                text -> LOG.warn("rank {}: {}", transport.rank(), text)),
            transport,
            oversubscribed,
            calls);
    try {
      World world = new World(this::joinAgain, driver, job, wrapping);
      Group all = Group.world(size, transport.rank());
      Communicator communicator =
          new EngineCommunicator(
              new GroupContext(driver, GroupContext.Job.of(hosts, calls.algorithm()), all),
              calls,
              world,
              EngineCommunicator.Owns.THE_JOB);
      if (joined != null && joined.settings.status()) {
        driver.answerBy(new StatusServer(joined.settings, joined.roster, driver));
      }
      world.report(communicator, earlier);
      return communicator;
    } catch (RuntimeException | Error e) {
      driver.close();
      throw e;
    }
  }

  /** By which ranks that have tables of their own are refused by those that have others. */
  private static String ofTable(Algorithm algorithm) {
    return algorithm instanceof Algorithm.Auto auto && !auto.rows().isEmpty()
        ? ", table of auto " + AlgorithmTable.fingerprint(auto, Algorithms.onClassPath())
        : "";
  }

  /**
   * Returns the number of ranks that have the host of this one in their address, this one included.
   */
  private static int neighbours(Roster roster, int rank) {
    String own = host(roster.addresses().get(rank));
    return (int) roster.addresses().stream().filter(address -> host(address).equals(own)).count();
  }

  private static String host(String address) {
    int colon = address.lastIndexOf(':');
    return colon < 0 ? address : address.substring(0, colon);
  }

  private static TransportProvider transport(String name) {
    List<TransportProvider> all =
        Services.of(TransportProvider.class).stream().map(ServiceLoader.Provider::get).toList();
    return all.stream()
        .filter(provider -> provider.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new UnavailableException(
                    "no transport \""
                        + name
                        + "\" is on the class path, only "
                        + all.stream().map(TransportProvider::name).collect(Collectors.toList())
                        + ": \"tcp\" comes with the dependency io.collectives:collectives-netty"));
  }

  private static Rendezvous rendezvous(JobSettings settings) {
    return Services.of(RendezvousProvider.class).stream()
        .map(provider -> provider.get().open(settings))
        .flatMap(Optional::stream)
        .findFirst()
        .orElseThrow(
            () ->
                new JoinException(
                    "nothing on the class path knows how to meet at "
                        + settings.rendezvous()
                        + ": allowed are file:///directory, and tcp://host:port with the dependency"
                        + " io.collectives:collectives-netty"
                        + (settings.rendezvous().equals(ExchangeRendezvous.PLACE)
                            ? "; give the exchange of texts to join(settings, exchange)"
                            : "")));
  }
}
