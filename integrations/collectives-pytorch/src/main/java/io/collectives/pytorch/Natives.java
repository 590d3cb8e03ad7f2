package io.collectives.pytorch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.CodeSource;
import java.util.Objects;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/**
 * The native libraries of PyTorch, which JavaCPP unpacks (some 450 MB) into a cache in the home
 * directory when a program first uses them. Processes that unpack into one cache at once truncate
 * each other's files and die with SIGBUS; {@link #load()} lets one after the other do so.
 *
 * <p>Call {@code load()} at the beginning of each rank's {@code main}, before any other class of
 * {@code org.bytedeco.pytorch} is used; or run this class once on each host before ranks start:
 * {@code java -cp … io.collectives.pytorch.Natives}.
 */
public final class Natives {
  private Natives() {}

  /**
   * Unpacks the libraries if that has not been done on this host, and loads them. It waits while
   * another process that calls this method unpacks into the same cache.
   *
   * @throws UncheckedIOException if the cache cannot be written
   * @throws UnsatisfiedLinkError if the class path has no natives for this platform
   */
  @SuppressWarnings("try") // The lock is in force as long as it is open.
  public static void load() {
    try {
      Path cache = Loader.getCacheDir().toPath();
      Path done = cache.resolve("collectives-pytorch-" + version() + ".done");
      if (!Files.exists(done)) {
        Files.createDirectories(cache);
        try (FileChannel channel =
                FileChannel.open(
                    cache.resolve("collectives-pytorch.lock"),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE);
            FileLock lock = channel.lock()) {
          if (!Files.exists(done)) {
            Loader.load(torch.class);
            Files.createFile(done);
          }
        }
      }
      Loader.load(torch.class); // Many processes may load at once what is unpacked.
    } catch (IOException e) {
      throw new UncheckedIOException(
          "PyTorch's natives cannot be unpacked: make the cache of JavaCPP writable, or name"
              + " another one by -Dorg.bytedeco.javacpp.cachedir",
          e);
    }
  }

  /** Returns a name of the jar of the binding, whose natives JavaCPP unpacks again if it is new. */
  private static String version() throws IOException {
    try {
      CodeSource source = torch.class.getProtectionDomain().getCodeSource();
      Path jar = Path.of(source.getLocation().toURI());
      return Integer.toHexString(Objects.hash(jar, Files.getLastModifiedTime(jar)));
    } catch (URISyntaxException e) {
      throw new IOException(e);
    }
  }

  /** Unpacks the libraries and ends. */
  public static void main(String[] args) {
    load();
  }
}
