package io.collectives.engine.join;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.RendezvousProvider;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks that meet in a directory; most tests wait for files or deadlines, so they do together. */
@Timeout(30)
@Tag("once")
@Execution(ExecutionMode.CONCURRENT)
final class DirectoryRendezvousTest {
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final Duration SHORT = Duration.ofMillis(400);
  private static final String STALE_RUN = "0123456789abcdef0123456789abcdef";

  @TempDir private Path directory;
  private final List<Rendezvous> opened = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  private Duration silence = Duration.ofSeconds(4);

  @AfterEach
  void close() throws Exception {
    opened.forEach(Rendezvous::close);
    for (Thread thread : threads) {
      thread.join();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8})
  void allRanksGetTheSameRoster(int size) throws Exception {
    List<CompletableFuture<Roster>> ranks =
        IntStream.range(0, size).mapToObj(rank -> meet(who(rank, size), LONG)).toList();
    Roster first = ranks.get(0).get();
    assertEquals(
        IntStream.range(0, size).mapToObj(rank -> "at-" + rank).toList(), first.addresses());
    for (CompletableFuture<Roster> rank : ranks) {
      assertEquals(first, rank.get());
    }
    assertEquals(List.of(), files());
  }

  @Test
  void runsDifferInTheirEpochs() throws Exception {
    assertNotEquals(meet(who(0, 1), LONG).get().epoch(), meet(who(0, 1), LONG).get().epoch());
  }

  @Test
  void rankZeroMayComeLast() throws Exception {
    List<CompletableFuture<Roster>> ranks = new ArrayList<>();
    for (int rank = 3; rank > 0; rank--) {
      ranks.add(meet(who(rank, 4), LONG));
      awaitFile("waiting-" + rank);
    }
    ranks.add(meet(who(0, 4), LONG));
    assertAllMet(ranks);
  }

  @Test
  void otherRanksMayComeLast() throws Exception {
    List<CompletableFuture<Roster>> ranks = new ArrayList<>();
    ranks.add(meet(who(0, 3), LONG));
    awaitFile(".run");
    ranks.add(meet(who(2, 3), LONG));
    awaitFile("place-2");
    ranks.add(meet(who(1, 3), LONG));
    assertAllMet(ranks);
  }

  @Test
  void everyRankNamesTheMissingOnes() {
    CompletableFuture<Roster> zero = meet(who(0, 6), LONG);
    CompletableFuture<Roster> three = meet(who(3, 6), LONG);
    awaitFile("place-3");
    for (CompletableFuture<Roster> rank : List.of(meet(who(1, 6), SHORT), zero, three)) {
      assertRefused(rank, "missing of 6: ranks 2, 4, 5", "400 ms", directory.toString());
    }
    assertEquals(List.of(), files());
  }

  @Test
  void rankZeroNamesTheMissingOnes() {
    CompletableFuture<Roster> other = meet(who(2, 3), LONG);
    awaitFile("waiting-2");
    assertRefused(
        meet(who(0, 3), Duration.ofSeconds(1)), "rank 0 (host-0)", "missing of 3: rank 1");
    assertRefused(other, "missing of 3: rank 1");
    assertEquals(List.of(), files());
  }

  @Test
  void aMissingRankZeroIsNamedWithTheOthers() {
    CompletableFuture<Roster> one = meet(who(1, 4), LONG);
    awaitFile("waiting-1");
    assertRefused(meet(who(3, 4), SHORT), "missing of 4: ranks 0, 2");
    one.cancel(true);
  }

  @Test
  void aSecondProcessOfARankIsRefusedAndNamedOnAllRanks() {
    CompletableFuture<Roster> zero = meet(who(0, 3), LONG);
    CompletableFuture<Roster> first = meet(who(1, 3), LONG);
    awaitFile("place-1");
    CompletableFuture<Roster> second = meet(who(1, 3, "elsewhere"), LONG);
    for (CompletableFuture<Roster> rank : List.of(zero, first, second)) {
      assertRefused(rank, "claim rank 1", "host-1", "elsewhere");
    }
  }

  @Test
  void aSecondRankZeroIsRefusedAndNamedOnAllRanks() {
    CompletableFuture<Roster> zero = meet(who(0, 2), LONG);
    awaitFile(".run");
    CompletableFuture<Roster> other = meet(who(0, 2, "elsewhere"), LONG);
    assertRefused(zero, "rank 0", "elsewhere");
    boolean overtaken =
        zero.handle((roster, e) -> e.getMessage().contains("began a newer run")).join();
    if (overtaken) {
      other.cancel(true); // The first one had found out and gone before the other one looked.
    } else {
      assertRefused(other, "claim rank 0", "host-0", "elsewhere");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "size, has 3, has 4",
    "version, has 1, has 2",
    "transport, has tcp, has shm",
  })
  void whatDiffersIsNamedOnAllRanks(String what, String ours, String theirs) {
    Announcement odd =
        switch (what) {
          case "size" -> new Announcement("job", 2, 4, 1, "tcp", "a", "odd");
          case "version" -> new Announcement("job", 2, 3, 2, "tcp", "a", "odd");
          default -> new Announcement("job", 2, 3, 1, "shm", "a", "odd");
        };
    CompletableFuture<Roster> zero = meet(who(0, 3), LONG);
    CompletableFuture<Roster> one = meet(who(1, 3), LONG);
    awaitFile("place-1");
    for (CompletableFuture<Roster> rank : List.of(meet(odd, LONG), one, zero)) {
      assertRefused(rank, "rank 2 (odd) " + theirs, "rank 0 (host-0) " + ours);
    }
  }

  @Test
  void aLargerSizeIsFoundWithPlacesBeyondTheSmaller() {
    CompletableFuture<Roster> odd = meet(who(7, 8), LONG);
    assertRefused(meet(who(0, 2), LONG), "rank 7 (host-7) has 8", "rank 0 (host-0) has 2");
    assertRefused(odd, "rank 7 (host-7) has 8", "rank 0 (host-0) has 2");
  }

  @Test
  void anotherJobIsNamedWhenTheWaitIsOver() {
    CompletableFuture<Roster> other =
        meet(new Announcement("other", 1, 2, 1, "tcp", "a", "odd"), Duration.ofSeconds(2));
    awaitFile("waiting-1");
    assertRefused(
        meet(who(0, 2), SHORT), "job job", "missing of 2: rank 1", "job other with rank 1 (odd)");
    meet(who(0, 2), LONG);
    assertRefused(other, "job other", "missing of 2: rank 0", "job job with rank 0 (host-0)");
  }

  @Test
  void twoJobsMeetInOneDirectory() throws Exception {
    List<CompletableFuture<Roster>> a = new ArrayList<>();
    List<CompletableFuture<Roster>> b = new ArrayList<>();
    for (int rank = 3; rank >= 0; rank--) {
      a.add(meet(new Announcement("team/a", rank, 4, 1, "tcp", "a" + rank, "x"), LONG));
      b.add(meet(new Announcement("team_a", rank, 4, 1, "tcp", "b" + rank, "x"), LONG));
    }
    assertEquals(List.of("a0", "a1", "a2", "a3"), assertAllMet(a).addresses());
    assertEquals(List.of("b0", "b1", "b2", "b3"), assertAllMet(b).addresses());
    assertEquals(List.of(), files());
  }

  @Test
  void oneJobMeetsAgainAndAgain() throws Exception {
    for (int run = 0; run < 10; run++) {
      List<CompletableFuture<Roster>> ranks =
          IntStream.range(0, 4).mapToObj(rank -> meet(who(rank, 4), LONG)).toList();
      assertAllMet(ranks);
    }
  }

  @Test
  void leftoversOfACrashedRunDoNotCount() throws Exception {
    leaveCrashedRun(4, "");
    List<CompletableFuture<Roster>> ranks = new ArrayList<>();
    // These two come early and believe the old run: one finds its place free there, the other
    // taken.
    ranks.add(meet(who(3, 4), LONG));
    awaitFile(STALE_RUN + ".place-3");
    ranks.add(meet(who(2, 4), LONG));
    awaitFile("waiting-2");
    ranks.add(meet(who(0, 4), LONG));
    ranks.add(meet(who(1, 4), LONG));
    Roster roster = assertAllMet(ranks);
    assertEquals(List.of("at-0", "at-1", "at-2", "at-3"), roster.addresses());
    assertNotEquals(JobEpoch.parse(STALE_RUN), roster.epoch());
    assertEquals(List.of(), files());
  }

  @ParameterizedTest
  @ValueSource(strings = {"complete", "failed"})
  void leftoverVerdictsDoNotCount(String state) throws Exception {
    leaveCrashedRun(3, state);
    CompletableFuture<Roster> early = meet(who(2, 3), LONG);
    if (state.equals("failed")) {
      awaitFile(STALE_RUN + ".place-2");
    } else {
      awaitFile("waiting-2");
    }
    assertAllMet(List.of(early, meet(who(1, 3), LONG), meet(who(0, 3), LONG)));
  }

  @Test
  void aRunOfWhichRankZeroDiedIsNoProofThatItIsThere() throws Exception {
    silence = Duration.ofMillis(100); // Nor is it lost to those who have never met it.
    leaveCrashedRun(3, "");
    CompletableFuture<Roster> one = meet(who(1, 3), LONG);
    awaitFile("waiting-1");
    assertRefused(meet(who(2, 3), SHORT), "missing of 3: rank 0");
    one.cancel(true);
  }

  @Test
  @Tag("long") // Simulated ranks die at that moment, too.
  void aRankThatDiesWhileOthersAreAwaitedIsNamedToAll() throws Exception {
    silence = Duration.ofSeconds(2);
    CompletableFuture<Roster> zero = meet(who(0, 4), LONG);
    CompletableFuture<Roster> one = meet(who(1, 4), LONG);
    awaitFile("place-1");
    leavePlace(presentRun(), 2, 4);
    for (CompletableFuture<Roster> survivor : List.of(zero, one)) {
      assertRefused(
          survivor, "rank 2 (old) came to", "was lost", "2000 ms nobody has taken its place");
    }
    assertEquals(List.of(), files());
  }

  @Test
  void aRankThatDiesWhenAllSitIsNamedToAll() throws Exception {
    silence = Duration.ofSeconds(2);
    CompletableFuture<Roster> zero = meet(who(0, 3), LONG);
    awaitFile(".run");
    leavePlace(presentRun(), 1, 3);
    for (CompletableFuture<Roster> survivor : List.of(zero, meet(who(2, 3), LONG))) {
      assertRefused(survivor, "rank 1 (old) came to", "was lost");
    }
    assertEquals(List.of(), files());
  }

  @Test
  void aRankZeroThatDiesIsNamedToAllWhoHadMetIt() throws Exception {
    silence = Duration.ofSeconds(2);
    Files.writeString(directory.resolve(prefix() + ".run"), crashed(0, 4));
    List<CompletableFuture<Roster>> ranks = List.of(meet(who(1, 4), LONG), meet(who(2, 4), LONG));
    awaitFile("beat-1");
    awaitFile("beat-2");
    beatAsRankZero(ranks);
    for (CompletableFuture<Roster> survivor : ranks) {
      assertRefused(
          survivor, "rank 0 (old) of job job was met by rank ", "was lost", "taken its place");
    }
    assertEquals(List.of(), files());
  }

  @Test
  void aNewProcessTakesThePlaceOfADeadOne() throws Exception {
    silence = Duration.ofSeconds(3);
    CompletableFuture<Roster> zero = meet(who(0, 3), LONG);
    awaitFile(".run");
    Path place = leavePlace(presentRun(), 1, 3);
    CompletableFuture<Roster> one = meet(who(1, 3), LONG);
    awaitText(place, "address=at-1\n");
    Roster roster = assertAllMet(List.of(zero, one, meet(who(2, 3), LONG)));
    assertEquals(List.of("at-0", "at-1", "at-2"), roster.addresses());
    assertEquals(List.of(), files());
  }

  @Test
  void aNewRankZeroIsFollowedWhenTheOldOneIsDead() throws Exception {
    leaveCrashedRun(2, "");
    CompletableFuture<Roster> one = meet(who(1, 2), LONG);
    awaitFile("beat-1");
    beatAsRankZero(List.of(one));
    assertAllMet(List.of(one, meet(who(0, 2), LONG)));
    assertEquals(List.of(), files());
  }

  @Test
  void aRankThatWasStoppedTakesItsPlaceAgain() throws Exception {
    CompletableFuture<Roster> zero = meet(who(0, 3), LONG);
    CompletableFuture<Roster> one = meet(who(1, 3), LONG);
    awaitFile("beat-1");
    Path place = directory.resolve(prefix() + "." + presentRun() + ".place-1");
    Files.delete(place); // As rank 0 does with the place of who does not beat.
    awaitText(place, "address=at-1\n");
    assertAllMet(List.of(zero, one, meet(who(2, 3), LONG)));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRankThatWasStoppedDoesNotJoinInAnothersPlace(boolean complete) throws Exception {
    leaveCrashedRun(2, "");
    CompletableFuture<Roster> one = meet(who(1, 2), LONG);
    awaitFile("beat-1");
    Files.move(
        Files.writeString(directory.resolve("draft"), crashed(1, 2)),
        directory.resolve(prefix() + "." + STALE_RUN + ".place-1"),
        StandardCopyOption.REPLACE_EXISTING);
    if (complete) {
      Files.writeString(
          directory.resolve(prefix() + "." + STALE_RUN + ".verdict"),
          "state=complete\nreason=\nend\n");
    }
    assertRefused(one, "claim rank 1: old and host-1");
  }

  @Test
  void aRankThatWasStoppedLearnsThatItWasGivenUp() throws Exception {
    leaveCrashedRun(2, "");
    CompletableFuture<Roster> one = meet(who(1, 2), LONG);
    awaitFile("beat-1");
    Files.delete(directory.resolve(prefix() + ".run"));
    Files.delete(directory.resolve(prefix() + "." + STALE_RUN + ".place-1"));
    assertRefused(one, "rank 1 (host-1) of job job gave no sign", "start all ranks again");
    assertEquals(List.of(), files());
  }

  @Test
  void aRankZeroWhoseRunWasClearedByAnotherGivesUp() throws Exception {
    CompletableFuture<Roster> zero = meet(who(0, 2), LONG);
    awaitFile(".seen");
    Path seen = directory.resolve(prefix() + "." + presentRun() + ".seen");
    // As a new rank 0 does that has met the others; the old one may be renewing either now.
    Awaitility.await()
        .until(
            () -> {
              Files.deleteIfExists(seen);
              Files.deleteIfExists(directory.resolve(prefix() + ".run"));
              return zero.isDone();
            });
    assertRefused(zero, "rank 0 (host-0) of job job was stopped", "has taken its place");
    assertEquals(List.of(), files());
  }

  @Test
  void closingWhileWaitingUnblocksAllRanks() {
    for (int closing = 0; closing < 2; closing++) {
      opened.clear();
      CompletableFuture<Roster> zero = meet(who(0, 3), LONG);
      awaitFile(".run");
      CompletableFuture<Roster> one = meet(who(1, 3), LONG);
      awaitFile("place-1");
      opened.get(closing).close();
      opened.get(closing).close();
      assertRefused(
          zero, "rank " + closing + " (host-" + closing + ")", "closed", "missing of 3: rank");
      assertRefused(
          one, "rank " + closing + " (host-" + closing + ")", "closed", "missing of 3: rank");
    }
  }

  @Test
  void closingBeforeJoiningRefuses() {
    Rendezvous rendezvous = new DirectoryRendezvous(directory);
    rendezvous.close();
    assertTrue(
        assertThrows(JoinException.class, () -> rendezvous.meet(who(1, 2), LONG))
            .getMessage()
            .contains("closed"));
  }

  @Test
  void interruptingUnblocksAndIsKept() throws Exception {
    CompletableFuture<Boolean> kept = new CompletableFuture<>();
    Rendezvous rendezvous = new DirectoryRendezvous(directory);
    Thread waiter =
        new Thread(
            () -> {
              try {
                rendezvous.meet(who(1, 2), LONG);
              } catch (JoinException e) {
                kept.complete(
                    Thread.currentThread().isInterrupted()
                        && e.getMessage().contains("interrupted"));
              }
            });
    waiter.start();
    awaitFile("waiting-1");
    waiter.interrupt();
    assertTrue(kept.get());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "end", "run=..\nend\n", "nonsense\nend\n", "run=1\nrun=1\nend\n", "oversized"})
  void aBadRunFileIsReplaced(String content) throws Exception {
    Path run = directory.resolve(prefix() + ".run");
    Files.writeString(
        run, content.equals("oversized") ? "a=" + "b".repeat(5000) + "\nend\n" : content);
    CompletableFuture<Roster> early = meet(who(1, 2), LONG);
    awaitFile("waiting-1");
    assertAllMet(List.of(early, meet(who(0, 2), LONG)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"version=1\n", "oversized"})
  void aBadPlaceIsNamed(String content) throws Exception {
    CompletableFuture<Roster> zero = meet(who(0, 2), LONG);
    awaitFile(".run");
    Path place = directory.resolve(prefix() + "." + presentRun() + ".place-1");
    Files.writeString(
        place, content.equals("oversized") ? "a=" + "b".repeat(5000) + "\nend\n" : content);
    opened.get(0).close();
    assertRefused(
        zero,
        "missing of 2: rank 1",
        place.toString(),
        content.equals("oversized") ? "longer than 4096" : "does not end");
  }

  /**
   * Reading from a pipe that nobody writes to, or from a device that never ends, takes for ever.
   */
  @ParameterizedTest
  @ValueSource(strings = {"pipe", "link to a pipe", "link to a device", "directory"})
  void whatIsNoRegularFileIsNotOpened(String kind) throws Exception {
    Path run = directory.resolve(prefix() + ".run");
    makeSpecial(kind, run);
    makeSpecial(kind, directory.resolve("collectives-other-0123456789abcdef.run"));
    CompletableFuture<Roster> early = meet(who(1, 2), LONG);
    awaitFile("waiting-1");
    assertRefused(
        meet(who(1, 2), SHORT), "400 ms", "missing of 2: rank 0", "it is not a regular file");
    CompletableFuture<Roster> zero = meet(who(0, 2), LONG);
    if (kind.equals("directory")) {
      assertRefused(zero, "rank 0 of job job cannot meet", run.toString());
      opened.get(0).close();
    } else {
      assertAllMet(List.of(zero, early));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"place-1", "beat-1", "verdict", "seen"})
  void aPipeInARunHoldsUpNobody(String what) throws Exception {
    boolean isReplaced = what.equals("seen") || what.equals("beat-1"); // By ranks.
    Duration timeout = isReplaced ? LONG : Duration.ofSeconds(3);
    CompletableFuture<Roster> zero = meet(who(0, 3), timeout);
    awaitFile(".seen");
    Path file = directory.resolve(prefix() + "." + presentRun() + "." + what);
    if (what.equals("seen")) {
      makeSpecial("pipe", directory.resolve("pipe"));
      Files.move(directory.resolve("pipe"), file, StandardCopyOption.REPLACE_EXISTING);
    } else {
      makeSpecial("pipe", file);
    }
    CompletableFuture<Roster> one = meet(who(1, 3), timeout);
    awaitFile("waiting-1");
    if (isReplaced) {
      assertAllMet(List.of(zero, one, meet(who(2, 3), LONG)));
    } else {
      for (CompletableFuture<Roster> rank : List.of(meet(who(2, 3), SHORT), zero, one)) {
        assertRefused(rank, directory.toString());
      }
    }
  }

  private void makeSpecial(String kind, Path file) throws Exception {
    switch (kind) {
      case "directory" -> Files.createDirectory(file);
      case "link to a device" -> Files.createSymbolicLink(file, Path.of("/dev/zero"));
      case "link to a pipe" -> {
        makeSpecial("pipe", directory.resolve("pipe of " + file.getFileName()));
        Files.createSymbolicLink(file, directory.resolve("pipe of " + file.getFileName()));
      }
      default -> {
        Process made = new ProcessBuilder("mkfifo", file.toString()).inheritIO().start();
        Assumptions.assumeTrue(made.waitFor() == 0, "needs mkfifo");
      }
    }
  }

  /** The server of a network file system may be gone; nothing ends a read there. */
  @ParameterizedTest
  @ValueSource(strings = {"timeout", "close", "interrupt"})
  void aFileSystemThatDoesNotAnswerIsNotWaitedFor(String end) throws Exception {
    CountDownLatch reads = new CountDownLatch(1);
    CountDownLatch answers = new CountDownLatch(1);
    DirectoryRendezvous place =
        new DirectoryRendezvous(
            directory,
            silence,
            Duration.ofMillis(100),
            real ->
                (Surroundings)
                    Proxy.newProxyInstance(
                        Surroundings.class.getClassLoader(),
                        new Class<?>[] {Surroundings.class},
                        (proxy, method, arguments) -> {
                          if (method.getName().equals("read")) {
                            reads.countDown();
                            answers.await();
                          }
                          return method.invoke(real, arguments);
                        }));
    CompletableFuture<JoinException> failed = new CompletableFuture<>();
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    Thread rank =
        new Thread(
            () -> {
              try {
                place.meet(who(1, 2), end.equals("timeout") ? SHORT : LONG);
              } catch (JoinException e) {
                interrupted.complete(Thread.currentThread().isInterrupted());
                failed.complete(e);
              }
            });
    threads.add(rank);
    rank.start();
    reads.await();
    if (end.equals("close")) {
      place.close();
    } else if (end.equals("interrupt")) {
      rank.interrupt();
    }
    String message = failed.get(15, TimeUnit.SECONDS).getMessage();
    assertTrue(message.contains("the file system does not answer"), message);
    assertEquals(end.equals("interrupt"), interrupted.get());
    answers.countDown();
  }

  @Test
  void whatOthersWroteIsOneLineWithoutControls() throws Exception {
    Files.writeString(
        directory.resolve("collectives-other-0123456789abcdef.run"),
        "job=o\u001b[2J\u202eb\rc\nrank=0\nwhereabouts=" + "w".repeat(3000) + "\nend\n");
    CompletableFuture<Roster> one = meet(who(1, 2), SHORT);
    ExecutionException e = assertThrows(ExecutionException.class, one::get);
    String message = e.getCause().getMessage();
    assertTrue(message.contains("job o [2J b c with rank 0"), message);
    assertTrue(message.length() < 1000, message);
  }

  @Test
  void aDirectoryThatIsNotThereIsNamed() {
    Path gone = directory.resolve("gone");
    JoinException e =
        assertThrows(
            JoinException.class, () -> new DirectoryRendezvous(gone).meet(who(0, 1), LONG));
    assertTrue(e.getMessage().contains(gone.toString()), e::getMessage);
  }

  @Test
  void aFileIsNoDirectory() throws Exception {
    Path file = Files.createFile(directory.resolve("file"));
    JoinException e =
        assertThrows(
            JoinException.class, () -> new DirectoryRendezvous(file).meet(who(0, 1), LONG));
    assertTrue(e.getMessage().contains("not a directory"), e::getMessage);
  }

  @Test
  void theProviderKnowsFileAddressesOnly() {
    DirectoryRendezvousProvider provider = new DirectoryRendezvousProvider();
    assertTrue(provider.open(JobSettings.of(0, 1, directory.toUri())).isPresent());
    assertTrue(provider.open(JobSettings.of(0, 1, URI.create("tcp://localhost:1"))).isEmpty());
    assertThrows(
        JoinException.class,
        () -> provider.open(JobSettings.of(0, 1, URI.create("file://host/directory"))));
    assertTrue(
        ServiceLoader.load(RendezvousProvider.class).stream()
            .anyMatch(p -> p.type() == DirectoryRendezvousProvider.class));
  }

  private CompletableFuture<Roster> meet(Announcement who, Duration timeout) {
    Rendezvous rendezvous = new DirectoryRendezvous(directory, silence);
    opened.add(rendezvous);
    CompletableFuture<Roster> future = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                future.complete(rendezvous.meet(who, timeout));
              } catch (Throwable e) {
                future.completeExceptionally(e);
              }
            },
            "rank-" + who.rank());
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
    return future;
  }

  private static Announcement who(int rank, int size) {
    return who(rank, size, "host-" + rank);
  }

  private static Announcement who(int rank, int size, String whereabouts) {
    return new Announcement("job", rank, size, 1, "tcp", "at-" + rank, whereabouts);
  }

  private static Roster assertAllMet(List<CompletableFuture<Roster>> ranks) throws Exception {
    Roster first = ranks.get(0).get();
    for (CompletableFuture<Roster> rank : ranks) {
      assertEquals(first, rank.get());
    }
    return first;
  }

  private static void assertRefused(CompletableFuture<Roster> rank, String... facts) {
    ExecutionException e =
        assertThrows(ExecutionException.class, () -> rank.get(20, TimeUnit.SECONDS));
    assertEquals(JoinException.class, e.getCause().getClass(), () -> e.getCause().toString());
    String message = e.getCause().getMessage();
    for (String fact : facts) {
      assertTrue(message.contains(fact), () -> "\"" + fact + "\" is not in: " + message);
    }
  }

  private void awaitFile(String end) {
    Awaitility.await().until(() -> files().stream().anyMatch(name -> name.endsWith(end)));
  }

  private static void awaitText(Path file, String text) {
    Awaitility.await().until(() -> Files.exists(file) && Files.readString(file).contains(text));
  }

  private String presentRun() throws IOException {
    return Files.readAllLines(directory.resolve(prefix() + ".run")).stream()
        .filter(line -> line.startsWith("run="))
        .findFirst()
        .orElseThrow()
        .substring(4);
  }

  /** Makes a rank that ends at once sit in a run. */
  private Path leavePlace(String run, int rank, int size) throws IOException {
    Path draft = Files.writeString(directory.resolve("draft"), crashed(rank, size));
    return Files.move(draft, directory.resolve(prefix() + "." + run + ".place-" + rank));
  }

  /** Lives as rank 0 of the old run until all who sit there have beaten three times since. */
  private void beatAsRankZero(List<CompletableFuture<Roster>> ranks) throws IOException {
    Path seen = directory.resolve(prefix() + "." + STALE_RUN + ".seen");
    AtomicInteger beat = new AtomicInteger();
    int first = slowestBeat(ranks.size());
    Awaitility.await()
        .until(
            () -> {
              Path draft = directory.resolve("draft");
              Files.writeString(draft, "ranks=\nbeat=" + beat.incrementAndGet() + "\nend\n");
              Files.move(draft, seen, StandardCopyOption.REPLACE_EXISTING);
              return slowestBeat(ranks.size()) > first + 2;
            });
  }

  private int slowestBeat(int ranks) throws IOException {
    int slowest = Integer.MAX_VALUE;
    for (int rank = 1; rank <= ranks; rank++) {
      Path file = directory.resolve(prefix() + "." + STALE_RUN + ".beat-" + rank);
      Note beat = Note.parse(Files.readAllBytes(file));
      slowest = Math.min(slowest, beat.number("beat"));
    }
    return slowest;
  }

  private List<String> files() {
    try (Stream<Path> files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String prefix() {
    return "collectives-job-5e8c9902207afaeb";
  }

  /**
   * Makes what ranks 0 to {@code size} - 2 leave when they are killed: the run file and the places,
   * perhaps a verdict.
   */
  private void leaveCrashedRun(int size, String verdict) throws IOException {
    String prefix = prefix();
    Files.writeString(directory.resolve(prefix + ".run"), crashed(0, size));
    for (int rank = 1; rank < size - 1; rank++) {
      Files.writeString(
          directory.resolve(prefix + "." + STALE_RUN + ".place-" + rank), crashed(rank, size));
      Files.writeString(directory.resolve(prefix + ".waiting-" + rank), crashed(rank, size));
    }
    if (!verdict.isEmpty()) {
      Files.writeString(
          directory.resolve(prefix + "." + STALE_RUN + ".verdict"),
          "state=" + verdict + "\nreason=old\nend\n");
    }
  }

  private static String crashed(int rank, int size) {
    return "version=1\njob=job\nrank="
        + rank
        + "\nsize="
        + size
        + "\ntransport=tcp\naddress=old\nwhereabouts=old\nticket=old"
        + rank
        + "\nrun="
        + STALE_RUN
        + "\nend\n";
  }
}
