package io.collectives.bench.process;

import java.util.HashMap;
import java.util.Map;

/**
 * The description that a process of a job on this host gets, by the variables that PyTorch's
 * launcher made usual.
 *
 * @param rank the rank of the process
 * @param size the number of ranks
 * @param port the port of 127.0.0.1 on which rank 0 meets the others
 */
public record RankEnvironment(int rank, int size, int port) {

  /** The variables. */
  public Map<String, String> variables() {
    return Map.of(
        "RANK", Integer.toString(rank),
        "WORLD_SIZE", Integer.toString(size),
        "LOCAL_RANK", Integer.toString(rank),
        "MASTER_ADDR", "127.0.0.1",
        "MASTER_PORT", Integer.toString(port));
  }

  /** The variables, with the transport by which the ranks are to talk. */
  public Map<String, String> variables(String transport) {
    Map<String, String> variables = new HashMap<>(variables());
    variables.put("COLLECTIVES_TRANSPORT", transport);
    return variables;
  }
}
