package io.collectives;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.collectives.RankFailedException.Verdict;
import java.util.List;
import org.junit.jupiter.api.Test;

/** An error that goes to other ranks as the reason of an abort is the same error there. */
class RelayedErrorTest {

  @Test
  void everyKindComesThrough() {
    for (CollectiveException error :
        List.of(
            new RankFailedException("rank 3 is lost (dead 2): says rank 1", 3, Verdict.DEAD),
            new RankFailedException("rank 3 is silent", 3, Verdict.UNRESPONSIVE),
            new CallTimeoutException("all-reduce #1:\nrank 4 waited", 4),
            new MismatchException("rank 1 has this, rank 0 has that"),
            new AbortedException("tensor \"a\" became ready twice", 2))) {
      CollectiveException told =
          new AbortedException(
              "rank 7 aborted group a1 of ranks [0, 7]: " + RelayedError.reason(error), 7);
      CollectiveException original = RelayedError.original(told);
      assertEquals(error.getClass(), original.getClass());
      assertEquals(error.getMessage(), original.getMessage());
      assertEquals(culprit(error), culprit(original));
      if (error instanceof RankFailedException failed) {
        assertEquals(failed.verdict(), ((RankFailedException) original).verdict());
      }
    }
  }

  @Test
  void othersStayWhatTheyAre() {
    CollectiveException aborted = new AbortedException("rank 1 aborted the job: no reason", 1);
    assertSame(aborted, RelayedError.original(aborted));
    CollectiveException lost = new RankFailedException("rank 2 is lost", 2, Verdict.DEAD);
    assertSame(lost, RelayedError.original(lost));
  }

  private static int culprit(CollectiveException error) {
    if (error instanceof RankFailedException failed) {
      return failed.worldRank();
    }
    if (error instanceof CallTimeoutException late) {
      return late.worldRank();
    }
    return error instanceof AbortedException aborted ? aborted.worldRank() : -1;
  }
}
