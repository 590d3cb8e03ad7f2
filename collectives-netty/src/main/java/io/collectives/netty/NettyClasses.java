package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.netty.util.Version;

/**
 * The check that the class path has a Netty that this module can use. Frameworks such as Spark 3
 * bring Netty 4.1, whose classes have the same names and lack some.
 */
final class NettyClasses {
  /** New in Netty 4.2. */
  private static final String NEEDED = "io.netty.channel.IoEventLoop";

  private NettyClasses() {}

  /**
   * Fails with words if Netty is too old, which would be a missing class later.
   *
   * @throws JoinException saying what to do
   */
  static void check(JobSettings settings) {
    try {
      Class.forName(NEEDED, false, NettyClasses.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      Version found = Version.identify().get("netty-common");
      throw new JoinException(
          "rank "
              + settings.rank()
              + " cannot listen: the class path has "
              + (found == null ? "an unknown Netty" : "Netty " + found.artifactVersion())
              + ", which lacks "
              + NEEDED
              + "; depend on io.collectives:collectives-netty-shaded, not on collectives-netty, or"
              + " put the jars of Netty 4.2 before those of the framework that brings this one",
          e);
    }
  }
}
