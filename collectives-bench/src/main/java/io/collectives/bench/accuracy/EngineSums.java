package io.collectives.bench.accuracy;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.bench.model.Values;
import io.collectives.bench.perf.ThreadRanks;
import java.util.List;
import java.util.stream.IntStream;

/** The engine's: ranks are threads of this JVM that reduce in process. */
final class EngineSums implements Sums {
  private final Sample sample;
  private final Contributions contributions;
  private final boolean feedback;
  private final ThreadRanks ranks;
  private final List<Values> payloads;
  private final List<Payload> residuals;
  private final Values result;

  EngineSums(
      Algorithm algorithm,
      int ranks,
      ElementType type,
      WireChoice wire,
      Sample sample,
      Contributions contributions) {
    this.sample = sample;
    this.contributions = contributions;
    this.feedback = wire.feedback();
    this.ranks =
        ThreadRanks.inProcess(
            ranks, CallSettings.defaults().withAlgorithm(algorithm).withWireType(wire.type()));
    payloads =
        IntStream.range(0, ranks).mapToObj(rank -> Values.of(type, sample.payload())).toList();
    residuals =
        IntStream.range(0, feedback ? ranks : 0)
            .mapToObj(rank -> Payload.of(new float[sample.payload()]))
            .toList();
    result = Values.of(type, sample.elements());
  }

  @Override
  public Values take(int step) {
    ranks.all(
        world -> {
          reduce(world, step);
          return world;
        });
    Values sums = payloads.get(0);
    for (int index = 0; index < sample.picked(); index++) {
      for (int i = 0; i < sample.length(); i++) {
        result.set(
            index * sample.length() + i, sums.get(sample.chunk(index) * sample.length() + i));
      }
    }
    return result;
  }

  private void reduce(Communicator world, int step) {
    int rank = world.rank();
    Values values = payloads.get(rank);
    int length = sample.length();
    for (int chunk = 0; chunk < sample.chunks(); chunk++) {
      contributions.fill(values, chunk * length, length, step, rank, chunk);
    }
    if (feedback) {
      world.allReduce(values.payload(), values.payload(), ReduceOp.SUM, residuals.get(rank));
    } else {
      world.allReduce(values.payload(), ReduceOp.SUM);
    }
  }

  @Override
  public void close() {
    ranks.close();
  }
}
