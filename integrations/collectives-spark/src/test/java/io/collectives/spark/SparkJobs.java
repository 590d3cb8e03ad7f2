package io.collectives.spark;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** Contexts of Spark for tests: in this JVM, or with executors in processes of their own. */
final class SparkJobs {
  private SparkJobs() {}

  /** Starts Spark with four tasks in this JVM. */
  static JavaSparkContext local() {
    return new JavaSparkContext(conf().setMaster("local[4]"));
  }

  /** Starts Spark with two executors, which are processes, of two tasks each. */
  static JavaSparkContext processes() {
    Path home = Path.of(System.getenv("SPARK_HOME"));
    makeHome(home);
    SparkConf conf = conf().setMaster("local-cluster[2,2,1024]");
    conf.set("spark.executor.extraClassPath", directoriesOfClassPath());
    conf.set("spark.executor.memory", "512m");
    conf.set(
        "spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto");
    // How long Spark waits before it looks again whether there are executors enough.
    conf.set("spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "1s");
    conf.set("spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures", "200");
    return new JavaSparkContext(conf);
  }

  private static SparkConf conf() {
    return new SparkConf()
        .setAppName("collectives")
        .set("spark.ui.enabled", "false")
        .set("spark.log.level", "WARN")
        .set("spark.driver.host", "127.0.0.1")
        .set("spark.driver.bindAddress", "127.0.0.1");
  }

  /** Makes the directory from whose {@code jars} the executors of local-cluster start. */
  static void makeHome(Path home) {
    try {
      Path jars = Files.createDirectories(home.resolve("jars"));
      try (Stream<Path> old = Files.list(jars).sorted(Comparator.reverseOrder())) {
        for (Path link : old.toList()) {
          Files.delete(link);
        }
      }
      for (String entry : classPath()) {
        Path jar = Path.of(entry).toAbsolutePath();
        if (Files.isRegularFile(jar)) {
          Files.createSymbolicLink(jars.resolve(jar.getFileName()), jar);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static String directoriesOfClassPath() {
    List<String> directories = new ArrayList<>();
    for (String entry : classPath()) {
      if (Files.isDirectory(Path.of(entry))) {
        directories.add(Path.of(entry).toAbsolutePath().toString());
      }
    }
    return String.join(File.pathSeparator, directories);
  }

  static List<String> classPath() {
    String path =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    return List.of(path.split(File.pathSeparator));
  }
}
