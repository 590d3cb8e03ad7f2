package io.collectives.bench.model;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Tensors that are dealt out whole, as to parameter servers before Herring (Thangakrishnan et al.
 * 2020, section II-A), each of which has some of a model's variables.
 */
public final class WholeTensors {
  private WholeTensors() {}

  /**
   * Gives each tensor, the longest first, to the server that has least so far. No way of dealing
   * them has a busiest server with less than the longest of them.
   *
   * @param lengths of the tensors, in any unit
   * @return the server of each, from 0
   */
  public static int[] deal(int[] lengths, int servers) {
    int[] places = new int[lengths.length];
    long[] loads = new long[servers];
    IntStream.range(0, lengths.length)
        .boxed()
        .sorted(Comparator.comparingInt(tensor -> -lengths[tensor]))
        .forEach(
            tensor -> {
              long least = Arrays.stream(loads).min().orElseThrow();
              int server = 0;
              while (loads[server] > least) {
                server++;
              }
              places[tensor] = server;
              loads[server] += lengths[tensor];
            });
    return places;
  }
}
