package io.collectives.bench.digits;

import io.collectives.Payload;
import io.collectives.bench.digits.DigitsNetwork.Parameter;
import io.collectives.ps.store.ParameterStore;
import java.util.List;

/** A worker's part of an update that parameter servers do. */
final class ServerUpdate implements WeightUpdate {
  private final ParameterStore store;

  ServerUpdate(ParameterStore store, List<Parameter> parameters) {
    this.store = store;
    for (Parameter parameter : parameters) {
      store.register(
          parameter.name(), Payload.of(parameter.weights()), Payload.of(parameter.gradients()));
    }
    store.pull();
  }

  @Override
  public void step() {
    store.step();
  }
}
