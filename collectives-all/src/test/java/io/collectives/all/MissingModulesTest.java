package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.ReduceOp;
import io.collectives.UnavailableException;
import java.io.File;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Users are told what to do when a module is not on their class path. */
final class MissingModulesTest {

  /** Tries a ring in process. */
  static final class TryRing implements Callable<String> {
    @Override
    public String call() {
      List<Communicator> worlds = List.of();
      try {
        worlds = Collectives.inProcess(1, CallSettings.defaults().withAlgorithm(Algorithm.ring()));
        worlds.get(0).allReduce(new float[10], ReduceOp.SUM);
        return "nothing was missing";
      } catch (UnavailableException e) {
        return e.getMessage();
      } finally {
        worlds.forEach(Communicator::close);
      }
    }
  }

  /** Tries a view with a parameter server. */
  static final class TryParameterServer implements Callable<String> {
    @Override
    public String call() {
      List<Communicator> worlds = Collectives.inProcess(1);
      try {
        worlds.get(0).using(Algorithm.parameterServer(1)).allReduce(new float[10], ReduceOp.SUM);
        return "nothing was missing";
      } catch (UnavailableException e) {
        return e.getMessage();
      } finally {
        worlds.forEach(Communicator::close);
      }
    }
  }

  /** Tries to join over TCP. */
  static final class TryTcp implements Callable<String> {
    @Override
    public String call() {
      try (Communicator world =
          Collectives.join(
              JobSettings.of(0, 1, URI.create("tcp://localhost:1")).withTransport("tcp"))) {
        return "nothing was missing for rank " + world.rank();
      } catch (UnavailableException e) {
        return e.getMessage();
      }
    }
  }

  /** Joins without a word about the transport. */
  static final class TryAuto implements Callable<String> {
    @Override
    public String call() throws Exception {
      Path rendezvous = Files.createTempDirectory("collectives-rendezvous");
      try (Communicator world = Collectives.join(JobSettings.of(0, 1, rendezvous.toUri()))) {
        return "over " + world.explain(0).transports();
      } finally {
        try (Stream<Path> left = Files.walk(rendezvous)) {
          left.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
      }
    }
  }

  /** A job between processes of a host goes without the sockets. */
  @Test
  void sharedMemoryNeedsNoSockets() throws Exception {
    assertEquals("over [shm]", without("collectives-netty", TryAuto.class));
  }

  @Test
  void theModuleOfTheRingIsNamed() throws Exception {
    assertNamed("io.collectives:collectives-torus", without("collectives-torus", TryRing.class));
  }

  @Test
  void theModuleOfTheParameterServerIsNamed() throws Exception {
    assertNamed(
        "io.collectives:collectives-ps", without("collectives-ps", TryParameterServer.class));
  }

  @Test
  void theModuleOfTcpIsNamed() throws Exception {
    assertNamed("io.collectives:collectives-netty", without("collectives-netty", TryTcp.class));
  }

  @Test
  void theModuleOfTheEngineIsNamed() throws Exception {
    assertNamed("io.collectives:collectives-engine", without("collectives-engine", TryRing.class));
  }

  private static void assertNamed(String artifact, String message) {
    assertTrue(message.contains(artifact), () -> artifact + " is not in: " + message);
  }

  /** Runs a class where one module is not on the class path. */
  private static String without(String module, Class<? extends Callable<String>> program)
      throws Exception {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try (URLClassLoader loader =
        new URLClassLoader(classPathWithout(module), ClassLoader.getPlatformClassLoader())) {
      Thread.currentThread().setContextClassLoader(loader);
      var constructor = loader.loadClass(program.getName()).getDeclaredConstructor();
      constructor.setAccessible(true);
      return (String) ((Callable<?>) constructor.newInstance()).call();
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private static URL[] classPathWithout(String module) throws MalformedURLException {
    String classPath =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    List<URL> urls = new ArrayList<>();
    boolean found = false;
    for (String entry : classPath.split(File.pathSeparator)) {
      if (entry.contains(module)) {
        found = true;
      } else {
        urls.add(new File(entry).toURI().toURL());
      }
    }
    assertTrue(found, () -> module + " is not on the class path of this test: " + classPath);
    return urls.toArray(URL[]::new);
  }
}
