package io.collectives.bench.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JoinFailureTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "true | 2 | rank 2 (process 7 at 127.0.0.1:5) came to tcp://h:1, where job \"default\""
            + " meets, and was lost: its process",
        "true | 0 | rank 0 of job \"default\" was met by rank 3 at tcp://h:1, and was lost: its"
            + " process has ended",
        "false | 12 | rank 12 has not come to tcp://h:1, where 3 of 13 ranks of job \"default\""
            + " are; rank 0 waits no longer",
        "false | 0 | rank 3 of job \"default\" met nobody at tcp://h:1 within 10 ms: nobody listens"
            + " there (x); rank 0 must",
      })
  void theCulpritIsRead(boolean hadCome, int culprit, String message) {
    assertEquals(new JoinFailure(Set.of(culprit), hadCome), JoinFailure.parse(message));
  }

  @Test
  void severalAreReadAndOthersAreNobody() {
    assertEquals(
        new JoinFailure(Set.of(1, 3), false),
        JoinFailure.parse("ranks 1, 3 have not come to tcp://h:1, where 2 of 4 ranks of job"));
    assertEquals(
        new JoinFailure(Set.of(), false),
        JoinFailure.parse("rank 2 of job \"default\" was interrupted while meeting at tcp://h:1"));
  }
}
