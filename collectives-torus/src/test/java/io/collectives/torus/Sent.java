package io.collectives.torus;

import io.collectives.plan.Plan;
import java.util.stream.LongStream;

/** The numbers of chunks that each rank sends to each other. */
record Sent(long[][] chunks) {

  static Sent of(Plan plan) {
    long[][] sent = new long[plan.ranks()][plan.ranks()];
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(lane, round, (from, to, first, count, effect) -> sent[from][to] += count);
      }
    }
    return new Sent(sent);
  }

  long chunks(int from, int to) {
    return chunks[from][to];
  }

  long chunks(int from) {
    return LongStream.of(chunks[from]).sum();
  }
}
