package io.collectives.bench.flight;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FlightRecordTest {
  @TempDir private Path directory;

  @Test
  void everythingIsRead() {
    FlightRecord record =
        Records.of(
            2,
            300,
            Records.done(2, 7),
            Records.line(2, "ffffffffffffffff", "3,2", 0, 5, "running", 95_000, "waits"));
    assertEquals(2, record.rank());
    assertEquals(OptionalInt.of(4), record.size());
    assertEquals(OptionalLong.of(100_000), record.atMillis());
    assertFalse(record.complete());
    assertEquals(
        List.of(
            new FlightCall(
                "a1",
                List.of(0, 1, 2, 3),
                7,
                new FlightCall.Operation("all-reduce", "ring", "sum", "float32", 1000),
                new FlightCall.Progress(
                    "done", 90_007, OptionalLong.of(90_012), "", OptionalInt.empty()),
                ""),
            new FlightCall(
                "ffffffffffffffff",
                List.of(3, 2),
                0,
                new FlightCall.Operation("all-reduce", "ring", "sum", "float32", 5),
                new FlightCall.Progress(
                    "running", 95_000, OptionalLong.empty(), "waits", OptionalInt.empty()),
                "")),
        record.calls());
  }

  /** Whatever the engine writes is read, and all of it. */
  @Test
  void aRealRecordIsRead() {
    for (Communicator world :
        Collectives.inProcess(1, CallSettings.defaults().withAlgorithm(Algorithm.ring()))) {
      try (world) {
        for (int i = 0; i < 300; i++) {
          world.allReduce(new long[i], ReduceOp.MAX);
        }
        world.barrier();
        FlightRecord record = FlightRecord.parse(world.flightRecord());
        assertEquals(0, record.rank());
        assertEquals(OptionalInt.of(1), record.size());
        assertFalse(record.complete());
        assertEquals(256, record.calls().size());
        FlightCall last = record.calls().get(254);
        assertEquals("all-reduce of 299 int64, max, by ring", last.operation().toString());
        assertEquals("done", last.progress().state());
        assertEquals("barrier by ring", record.calls().get(255).operation().toString());
        assertEquals(300, record.calls().get(255).sequence());
      }
    }
  }

  @Test
  void otherColumnsInAnotherOrderAreNoHindrance() {
    String text =
        "state\tnew\trank\tgroup\tmembers\tsequence\tcollective\talgorithm\top\ttype\tcount\tbegun"
            + "\tended\tdetail\r\n"
            + "queued\tx\t1\t0\t1\t3\tbarrier\tring\tsum\tfloat32\t0\t5\t\t\r\n";
    FlightRecord record = FlightRecord.parse(text);
    assertEquals(1, record.rank());
    assertEquals(OptionalLong.empty(), record.atMillis());
    assertTrue(record.complete());
    assertEquals("queued", record.calls().get(0).progress().state());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "0,1,2,3 | 0,1,3 | line 3: rank 2 is not among members 0,1,3",
        "a1 | xyz | line 3: group 'xyz': must be 1 to 16 hexadecimal digits",
        "a1 | 11112222333344445 | line 3: group '11112222333344445': must be",
        "done | sleeping | line 3: state 'sleeping': must be queued, running, done or failed",
        "1000 | -1 | line 3: count '-1': must be a whole number from 0 to",
        "90007 | 99999999999999999999 | line 3: begun '99999999999999999999': must be a whole"
            + " number",
        "all-reduce | all reduce sum sum\tsum | line 3: 15 cells for 14 columns",
        "begun | began | there is no column 'begun' among rank, group,",
        "2 of 4 | 1 of 4 | line 3: rank 2 in a record of rank 1",
        "00:01:40Z | yesterday | line 1: '1970-01-01Tyesterday' is no time",
      })
  void whatIsWrongIsNamedWithItsLine(String good, String bad, String message) {
    String text = Records.text(2, 1, Records.done(2, 7));
    assertTrue(text.contains(good), text);
    String broken = text.replaceFirst(good, bad);
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> FlightRecord.parse(broken));
    assertTrue(e.getMessage().startsWith(message), e.getMessage());
  }

  @Test
  void aFileThatIsNoneIsOneError() throws IOException {
    Path file = Files.writeString(directory.resolve("x.tsv"), "");
    IOException e = assertThrows(IOException.class, () -> FlightRecord.read(file));
    assertEquals(
        file
            + ": no flight record: neither a line '# flight record of rank …' nor a call tells"
            + " whose it is",
        e.getMessage());
    Path missing = directory.resolve("missing");
    e = assertThrows(IOException.class, () -> FlightRecord.read(missing));
    assertTrue(e.getMessage().startsWith(missing + ": cannot be read: "), e.getMessage());
  }

  @Test
  void anEndlessFileIsRefused() throws IOException {
    Path endless = directory.resolve("endless");
    try (var file = new java.io.RandomAccessFile(endless.toFile(), "rw")) {
      file.setLength(1L << 40);
    }
    IOException e = assertThrows(IOException.class, () -> FlightRecord.read(endless));
    assertEquals(endless + ": more than 64 MiB: no flight record is that long", e.getMessage());
  }
}
