package io.collectives.engine.join;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JoinException;
import io.collectives.TextExchange;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
@Tag("once")
final class ExchangeRendezvousTest {
  private static final Duration NO_LIMIT = Duration.ofMillis(1);

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8})
  void allRanksGetTheSameRoster(int size) throws Exception {
    List<Announcement> ranks = ranks(size);
    List<Roster> rosters = new ArrayList<>();
    for (CompletableFuture<Roster> rank : meet(ranks, texts -> texts)) {
      rosters.add(rank.get());
    }
    assertEquals(
        IntStream.range(0, size).mapToObj(rank -> "at-" + rank).toList(),
        rosters.get(0).addresses());
    rosters.forEach(roster -> assertEquals(rosters.get(0), roster));
    Roster again = meet(ranks, texts -> texts).get(0).get();
    assertNotEquals(rosters.get(0).epoch(), again.epoch());
  }

  @ParameterizedTest
  @CsvSource({
    "job, name of the job: rank 0 (host-0) has job; rank 2 (host-2) has other",
    "size, number of ranks: rank 0 (host-0) has 3; rank 2 (host-2) has 4",
    "version, version of the protocol: rank 0 (host-0) has 1; rank 2 (host-2) has 2",
    "transport, transport: rank 0 (host-0) has auto; rank 2 (host-2) has tcp",
    "rank, claim rank 1: host-1 and host-2",
  })
  void whatDiffersIsSaidAtAllRanks(String what, String words) {
    List<Announcement> ranks = ranks(3);
    ranks.set(
        2,
        new Announcement(
            what.equals("job") ? "other" : "job",
            what.equals("rank") ? 1 : 2,
            what.equals("size") ? 4 : 3,
            what.equals("version") ? 2 : 1,
            what.equals("transport") ? "tcp" : "auto",
            "at-2",
            "host-2"));
    List<CompletableFuture<Roster>> all = meet(ranks, texts -> texts);
    // A rank that has another number of ranks in mind sees that at once.
    for (CompletableFuture<Roster> rank : what.equals("size") ? all.subList(0, 2) : all) {
      assertRefused(rank, words.split("; "));
    }
    if (what.equals("size")) {
      assertRefused(all.get(2), "expects 4 ranks", "returned 3 texts");
    }
  }

  @Test
  void textsInAnotherOrderAreRefused() {
    assertAllRefused(
        texts -> List.of(texts.get(1), texts.get(0)),
        "text of rank 1 (host-1) in the place of rank 0",
        "must be in the order of ranks");
  }

  @Test
  void tooFewTextsAreRefused() {
    assertAllRefused(texts -> texts.subList(0, 1), "expects 2 ranks", "returned 1 texts");
    assertAllRefused(texts -> null, "was given no list");
  }

  @Test
  void textsThatNoRankHasGivenAreRefused() {
    assertAllRefused(texts -> Arrays.asList(texts.get(0), null), "for rank 1", "does not end with");
    assertAllRefused(texts -> List.of(texts.get(0).strip(), texts.get(1)), "for rank 0");
    List<CompletableFuture<Roster>> withoutEpoch =
        meet(ranks(2), texts -> List.of(texts.get(0).replaceAll("epoch=.*\n", ""), texts.get(1)));
    assertRefused(withoutEpoch.get(0), "or the exchange has changed a text");
    assertRefused(withoutEpoch.get(1), "text of rank 0 names no epoch");
    assertAllRefused(
        texts -> texts.stream().map(text -> text.replaceAll("ticket=.*", "ticket=1")).toList(),
        "claim rank",
        "or the exchange has changed a text");
  }

  @Test
  void anAddressThatIsTooLongIsRefusedBeforeTheExchange() {
    TextExchange never =
        text -> {
          throw new AssertionError("exchanged");
        };
    Announcement me = new Announcement("job", 0, 1, 1, "auto", "a".repeat(5000), "host-0");
    JoinException e =
        assertThrows(JoinException.class, () -> new ExchangeRendezvous(never).meet(me, NO_LIMIT));
    assertTrue(e.getMessage().contains("too much to tell"), e.getMessage());
  }

  @Test
  void whatTheExchangeThrowsIsTheCause() {
    IOException broken = new IOException("the driver is gone");
    JoinException e =
        assertThrows(
            JoinException.class,
            () ->
                new ExchangeRendezvous(
                        text -> {
                          throw broken;
                        })
                    .meet(ranks(2).get(1), NO_LIMIT));
    assertSame(broken, e.getCause());
    assertTrue(e.getMessage().contains("rank 1 of job job cannot exchange"), e.getMessage());
    assertTrue(e.getMessage().contains("the driver is gone"), e.getMessage());
  }

  @Test
  void anInterruptEndsItAndIsKept() throws Exception {
    CountDownLatch waits = new CountDownLatch(1);
    CompletableFuture<JoinException> failed = new CompletableFuture<>();
    CompletableFuture<Boolean> kept = new CompletableFuture<>();
    TextExchange endless =
        text -> {
          waits.countDown();
          new CountDownLatch(1).await();
          return List.of();
        };
    Thread rank =
        new Thread(
            () -> {
              try {
                new ExchangeRendezvous(endless).meet(ranks(2).get(1), NO_LIMIT);
              } catch (JoinException e) {
                kept.complete(Thread.currentThread().isInterrupted());
                failed.complete(e);
              }
            });
    rank.start();
    waits.await();
    rank.interrupt();
    assertTrue(failed.get().getMessage().contains("rank 1 of job job was interrupted"));
    assertTrue(kept.get());
    rank.join();
  }

  private static List<Announcement> ranks(int size) {
    List<Announcement> ranks = new ArrayList<>();
    for (int rank = 0; rank < size; rank++) {
      ranks.add(new Announcement("job", rank, size, 1, "auto", "at-" + rank, "host-" + rank));
    }
    return ranks;
  }

  /** Lets ranks meet on threads of their own by an exchange that changes what it returns. */
  private static List<CompletableFuture<Roster>> meet(
      List<Announcement> ranks, UnaryOperator<List<String>> change) {
    String[] texts = new String[ranks.size()];
    CyclicBarrier given = new CyclicBarrier(ranks.size());
    List<CompletableFuture<Roster>> all = new ArrayList<>();
    for (int i = 0; i < ranks.size(); i++) {
      int place = i;
      TextExchange exchange =
          text -> {
            texts[place] = text;
            given.await();
            return change.apply(List.of(texts));
          };
      CompletableFuture<Roster> met = new CompletableFuture<>();
      all.add(met);
      Thread thread =
          new Thread(
              () -> {
                try {
                  met.complete(new ExchangeRendezvous(exchange).meet(ranks.get(place), NO_LIMIT));
                } catch (Throwable e) {
                  met.completeExceptionally(e);
                }
              });
      thread.setDaemon(true);
      thread.start();
    }
    return all;
  }

  private static void assertAllRefused(UnaryOperator<List<String>> change, String... words) {
    for (CompletableFuture<Roster> rank : meet(ranks(2), change)) {
      assertRefused(rank, words);
    }
  }

  private static void assertRefused(CompletableFuture<Roster> rank, String... words) {
    Throwable cause = assertThrows(ExecutionException.class, rank::get).getCause();
    assertEquals(JoinException.class, cause.getClass(), cause.toString());
    for (String word : words) {
      assertTrue(cause.getMessage().contains(word), cause.getMessage());
    }
  }
}
