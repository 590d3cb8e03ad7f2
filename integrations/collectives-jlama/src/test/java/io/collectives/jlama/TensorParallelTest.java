package io.collectives.jlama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tjake.jlama.safetensors.DType;
import com.github.tjake.jlama.tensor.AbstractTensor;
import com.github.tjake.jlama.tensor.BFloat16BufferTensor;
import com.github.tjake.jlama.tensor.FloatBufferTensor;
import java.time.Duration;
import io.collectives.bench.process.LaunchedJob;
import io.collectives.Collectives;
import io.collectives.Communicator;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 180, unit = TimeUnit.SECONDS)
@Tag("once")
class TensorParallelTest {
  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void processesContinueThePromptAsOneDoes(int ranks) throws Exception {
    RandomLlama.write(directory);
    Communicator world = Collectives.inProcess(1).get(0);
    String alone = RandomLlama.generate(RandomLlama.load(directory, world), world);
    LaunchedJob.Program program =
        new LaunchedJob.Program(RandomLlama.class, List.of(), List.of(directory.toString()));
    LaunchedJob job = LaunchedJob.run(ranks, List.of(), program, Duration.ofSeconds(150));
    assertEquals(0, job.status(), job::toString);
    List<String> results = job.lines();
    System.out.println(alone + "\n" + results);
    Set<String> tokens = new HashSet<>(List.of(alone.split(" ")));
    assertTrue(tokens.size() > 4, "it repeats itself: " + alone);
    for (String result : results) {
      assertEquals(words(alone), words(result));
      assertEquals(length(alone), length(result), length(alone) * 1e-5);
    }
  }

  @Test
  void severalTensorsAreSummedAtOnceWhereTheyLie() {
    Collectives.inThreads(
        3,
        world -> {
          FloatBufferTensor a = new FloatBufferTensor(1, 8);
          FloatBufferTensor b = new FloatBufferTensor(1, 4);
          a.set(world.rank() + 1, 0, 7);
          b.set(10 * world.rank(), 0, 0);
          List<AbstractTensor> both = List.of(a, b);
          TensorParallel.sums(world).accept(both);
          assertEquals(6, a.get(0, 7));
          assertEquals(30, b.get(0, 0));
        });
  }

  @Test
  void otherTypesAreRefused() {
    Communicator world = Collectives.inProcess(1).get(0);
    List<AbstractTensor> halves = List.of(new BFloat16BufferTensor(1, 8));
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class, () -> TensorParallel.sums(world).accept(halves));
    assertTrue(e.getMessage().contains("type " + DType.BF16), e.getMessage());
  }

  @Test
  void headsThatCannotBeDividedAreRefused() {
    Collectives.inThreads(
        3,
        world -> {
          IllegalArgumentException e =
              assertThrows(
                  IllegalArgumentException.class, () -> RandomLlama.load(directory, world));
          assertTrue(e.getMessage().contains("8 attention heads"), e.getMessage());
        });
  }

  private static String words(String line) {
    return line.substring(0, line.lastIndexOf(' '));
  }

  private static double length(String line) {
    return Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
  }
}
