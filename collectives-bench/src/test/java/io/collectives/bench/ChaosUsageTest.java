package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChaosUsageTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--while sleeping | --while: 'sleeping' is none of calling, idle, joining; try",
        "--while joining --kinds kill,cut | --kinds cut --while joining: while ranks join, only kill and stop are possible; try",
        "--join-timeout 0.5 | --join-timeout 0.5: must be from 1 to 600 seconds; try",
        "--strangers -1 | --strangers -1: must be from 0 to 10000000; try",
        "--strangers 1 --strangers-per-second 0 | --strangers-per-second 0: must be from 1 to 10000; try",
        "--strangers 1 --faults 1 | --strangers 1 with --faults or --pauses: strangers come alone; try",
        "--strangers 1 --pauses 1 | --strangers 1 with --faults or --pauses: strangers come alone; try",
        "--strangers 1 --ranks 1 | --ranks 1: must be from 2 to 64; try",
        "--strangers 1 --bytes 4 | --bytes 4: must be from 8 to 256M; try",
        "--strangers 1 --bytes 257M | --bytes 269484032: must be from 8 to 256M; try",
        "--strangers 1 --bytes 10 | --bytes 10: must be a multiple of 4 (one float32); try",
        "--strangers 1 --warmup 601 | --warmup 601: must be from 0 to 600 seconds; try",
      })
  void wrongUsageIsOneLineAnd2(String arguments, String start) {
    Invocation wrong = Invocation.of(("chaos " + arguments).split(" "));
    assertEquals(2, wrong.status(), wrong.err());
    assertEquals("", wrong.out());
    assertEquals(1, wrong.err().lines().count(), wrong.err());
    assertTrue(wrong.err().startsWith("collectives chaos: " + start), wrong.err());
  }
}
