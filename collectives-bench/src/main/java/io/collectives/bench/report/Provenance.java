package io.collectives.bench.report;

import io.collectives.engine.memory.Kernels;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.Manifest;

/** The origin of figures: this program and this machine. */
public final class Provenance {
  private Provenance() {}

  /** The version of this program, {@code unknown} when it does not run from its jar. */
  public static String version() {
    return attribute("Implementation-Version").orElse("unknown");
  }

  /**
   * On one line: version, commit if the launcher script tells, JDK, operating system, processors,
   * and what sums memory outside the heap, unless that is copied as usual.
   */
  public static String line() {
    return "collectives "
        + version()
        + Optional.ofNullable(System.getProperty("collectives.commit"))
            .map(commit -> ", commit " + commit)
            .orElse("")
        + ", JDK "
        + Runtime.version()
        + " ("
        + System.getProperty("java.vendor")
        + "), "
        + System.getProperty("os.name")
        + " "
        + System.getProperty("os.version")
        + " "
        + System.getProperty("os.arch")
        + ", "
        + Runtime.getRuntime().availableProcessors()
        + " processors"
        + (Kernels.areTried() ? ", off-heap sums by " + Kernels.describe() : "");
  }

  /** The commit, JDK and machine, for the head of a picture. */
  public static String brief() {
    return Optional.ofNullable(System.getProperty("collectives.commit"))
            .map(commit -> "commit " + commit + ", ")
            .orElse("")
        + "JDK "
        + Runtime.version().feature()
        + ", "
        + System.getProperty("os.name")
        + " "
        + System.getProperty("os.arch")
        + ", "
        + Runtime.getRuntime().availableProcessors()
        + " processors";
  }

  /** The manifest beside this class, whichever jar came first on the class path. */
  private static Optional<String> attribute(String name) {
    URL here = Provenance.class.getResource("Provenance.class");
    if (here == null || !here.getProtocol().equals("jar")) {
      return Optional.empty();
    }
    String jar = here.toString().substring(0, here.toString().indexOf("!/") + 2);
    try (InputStream in = URI.create(jar + "META-INF/MANIFEST.MF").toURL().openStream()) {
      Attributes attributes = new Manifest(in).getMainAttributes();
      return Optional.ofNullable(attributes.getValue(name));
    } catch (IOException e) {
      return Optional.empty();
    }
  }
}
