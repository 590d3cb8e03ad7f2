package io.collectives.all;

import io.collectives.Algorithm;
import org.junit.jupiter.api.Tag;

@Tag("once")
final class UnixDirectCollectivesTest extends UnixCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
