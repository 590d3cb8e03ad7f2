package io.collectives.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.process.LaunchedJob;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Steps beside libtorch's own reducer end with the same weights; prints the times. {@code
 * -Dcollectives.hidden=64,1024 -Dcollectives.pairs=40} measures others.
 */
@Tag("long")
class ReducerComparisonTest {
  private static final Pattern DIFFERENCE = Pattern.compile("difference of weights (\\S+)");

  @Test
  @Timeout(900)
  void bothReducersTrainTheSameWeights(@TempDir Path directory) throws Exception {
    List<String> hidden = List.of(System.getProperty("collectives.hidden", "64").split(","));
    List<String> arguments = new ArrayList<>();
    arguments.add(directory.toString());
    arguments.add(System.getProperty("collectives.pairs", "10"));
    arguments.addAll(hidden);
    LaunchedJob.Program program =
        new LaunchedJob.Program(ReducerComparison.class, List.of("-Xmx512m"), arguments);
    LaunchedJob job = LaunchedJob.run(4, List.of(), program, Duration.ofSeconds(800));
    assertEquals(0, job.status(), job::toString);
    System.out.println(job.output());
    Matcher difference = DIFFERENCE.matcher(job.output());
    int found = 0;
    for (; difference.find(); found++) {
      assertTrue(Double.parseDouble(difference.group(1)) < 1e-4, job.output());
    }
    assertEquals(2 * hidden.size(), found, job.output());
  }
}
