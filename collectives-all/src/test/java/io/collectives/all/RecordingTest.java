package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The library's events in recordings of the JDK's Flight Recorder. */
class RecordingTest {
  /** The place of the settings in a checkout. */
  private static final Path SETTINGS =
      Path.of("../collectives-engine/src/main/resources/io/collectives/engine/collectives.jfc");

  private static final int SUMS = 5;

  @TempDir private Path directory;

  private static void inThreads(Consumer<Communicator> program) throws Exception {
    List<Communicator> worlds = Collectives.inProcess(2, CallSettings.defaults());
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      List<Future<?>> ends = new ArrayList<>();
      worlds.forEach(world -> ends.add(threads.submit(() -> program.accept(world))));
      for (Future<?> end : ends) {
        end.get();
      }
    } finally {
      worlds.forEach(Communicator::close);
      threads.shutdown();
    }
  }

  private static void sums(Communicator world) {
    for (int i = 0; i < SUMS; i++) {
      world.allReduce(new float[100], ReduceOp.SUM);
    }
    world.async().allReduce(Payload.of(new float[100]), ReduceOp.SUM).await();
    if (world.rank() == 1) {
      world.abort("enough");
    } else {
      assertThrows(AbortedException.class, world::barrier);
    }
  }

  private List<RecordedEvent> events(Recording recording) throws Exception {
    recording.stop();
    Path file = directory.resolve("job.jfr");
    Files.deleteIfExists(file);
    recording.dump(file);
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> event.getEventType().getName().startsWith("io.collectives."))
        .toList();
  }

  private static List<RecordedEvent> of(List<RecordedEvent> events, String name) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("io.collectives." + name))
        .toList();
  }

  @Test
  void theSettingsOfTheLibraryRecordAllOfIt() throws Exception {
    Configuration settings;
    try (var in = Files.newBufferedReader(SETTINGS)) {
      settings = Configuration.create(in);
    }
    try (Recording recording = new Recording(settings)) {
      recording.start();
      inThreads(
          world -> {
            world.tune();
            sums(world);
          });
      List<RecordedEvent> events = events(recording);

      List<RecordedEvent> mine =
          of(events, "Call").stream()
              .filter(event -> event.getInt("rank") == 0 && event.getLong("bytes") == 400)
              .filter(event -> event.getString("group").equals("1"))
              .toList();
      assertEquals(SUMS, mine.stream().filter(event -> !event.getBoolean("asynchronous")).count());
      assertEquals(1, mine.stream().filter(event -> event.getBoolean("asynchronous")).count());
      RecordedEvent first =
          mine.stream().filter(event -> !event.getBoolean("asynchronous")).toList().get(0);
      assertTrue(first.getString("call").startsWith("all-reduce #"), first::toString);
      assertTrue(first.getDuration("time").compareTo(first.getDuration()) >= 0, first::toString);
      assertTrue(
          first.getStackTrace().getFrames().stream()
              .map(RecordedFrame::getMethod)
              .anyMatch(
                  method ->
                      method.getName().equals("sums")
                          && method.getType().getName().equals(RecordingTest.class.getName())),
          first::toString);
      assertTrue(
          of(events, "Failure").stream()
              .anyMatch(event -> event.getString("message").contains("enough")),
          events::toString);
      assertEquals(2, of(events, "Tuning").size());
      assertTrue(
          of(events, "Group").stream()
              .anyMatch(event -> event.getString("members").equals("[0, 1]")));
      for (RecordedEvent wait : of(events, "Wait")) {
        assertEquals(1 - wait.getInt("rank"), wait.getInt("peer"), wait::toString);
      }
    }
  }

  /** A recording that is not for the library costs it nothing, but failures are worth it. */
  @Test
  void withoutSettingsOnlyFailuresAreRecorded() throws Exception {
    try (Recording recording = new Recording()) {
      recording.start();
      inThreads(RecordingTest::sums);
      List<String> names =
          events(recording).stream()
              .map(event -> event.getEventType().getName())
              .distinct()
              .toList();
      assertEquals(List.of("io.collectives.Failure"), names);
    }
  }
}
