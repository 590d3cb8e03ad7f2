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
        "--transport inprocess | --transport inprocess: ranks are processes; there are tcp, shm, unix and auto; try",
        "--transport tcp,pigeon | --transport: 'pigeon' is none of auto, tcp, unix, shm, inprocess; try",
        "--transport shm --kinds cut | --kinds cut --transport shm: it hits what is between ranks that talk by tcp; there are kill",
        "--transport unix --kinds kill,reset | --kinds reset --transport unix: it hits what is between ranks that talk by tcp;",
        "--transport tcp,auto --kinds cut | --kinds cut --transport auto: it hits what is between ranks that talk by tcp;",
        "--transport auto --hosts 2 --kinds isolate | --kinds isolate --transport auto: it hits what is between",
        "--transport shm --strangers 1 | --strangers 1 --transport shm: strangers come by tcp; try",
        "--hosts 2 | --hosts 2: only --transport auto tells hosts apart; try",
        "--hosts 5 --transport auto | --hosts 5: must be from 1 to 4; try",
        "--faults-per-job 3 | --faults-per-job 3: must be from 1 to 2, so that two of 4 ranks are left; try",
        "--faults-per-job 0..2 | --faults-per-job 0..2: must be from 1 to 2, so that two of 4 ranks are left; try",
        "--faults-per-job 2..1 | --faults-per-job: '2..1' is no number and no range; write 2 or 1..2; try",
        "--faults-per-job 2 --kinds cut | --kinds cut with --faults-per-job 2: there are kill and stop; try",
        "--faults-per-job 2 --while joining | --while joining with --faults-per-job 2: there are calling and idle; try",
        "--soak 1h --kinds reset | --kinds reset with --soak: there are kill and stop; try",
        "--soak 1h --while joining | --while joining with --soak: there are calling and idle; try",
        "--soak 0 | --soak 0: must be from 1s to 200h; try",
        "--soak 201h | --soak 723600: must be from 1s to 200h; try",
        "--soak 1h --faults 3 | --soak with --faults, --pauses or --strangers: faults come every few seconds; try",
        "--soak 1h --strangers 3 | --soak with --faults, --pauses or --strangers: faults come every few seconds; try",
        "--soak 1d | --soak: '1d' is no time; write seconds as 3, 0.5 or 3s, minutes as 5m, hours as 1h; try",
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
