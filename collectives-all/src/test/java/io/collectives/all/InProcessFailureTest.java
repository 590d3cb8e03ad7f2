package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.UnavailableException;
import io.collectives.testkit.FailureContractTest;
import java.util.List;
import org.junit.jupiter.api.Test;

final class InProcessFailureTest extends FailureContractTest {
  @Override
  protected List<Communicator> open(int ranks, CallSettings calls) {
    return Collectives.inProcess(ranks, calls);
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }

  @Test
  void threadsCannotGrow() {
    try (Communicator alone = Collectives.inProcess(1, CallSettings.defaults()).get(0)) {
      assertThrows(UnavailableException.class, alone::grow);
    }
  }
}
