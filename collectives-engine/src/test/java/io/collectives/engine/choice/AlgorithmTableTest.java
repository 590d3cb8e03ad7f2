package io.collectives.engine.choice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.spi.Algorithms;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AlgorithmTableTest {
  private static final Algorithms ALGORITHMS = Algorithms.onClassPath();

  private static AlgorithmTable parse(String rows) {
    return AlgorithmTable.parse(new Algorithm.Auto(rows, "here"), ALGORITHMS);
  }

  @Test
  void aStringAndAFileHaveOneGrammar() {
    String written =
        """
        # what I measured
        threads  all-reduce  3-8   : 0-2K   : exchange   # short ones
        threads  all-reduce  3-8   : 2K-1M  : ring
        hosts    all-reduce        : 0-inf  : torus:4x2
                 broadcast   9-inf : 0-1000 : halving-doubling
        """;
    AlgorithmTable table = parse(written);
    AlgorithmTable same =
        parse(
            "threads all-reduce 3-8:0-2K:exchange,2K-1M:ring;hosts all-reduce:0-inf:torus:4x2;"
                + "broadcast 9-inf:0-1000:halving-doubling;");
    assertEquals(
        List.of(
            "threads all-reduce 3-8: 0-2K: exchange",
            "threads all-reduce 3-8: 2K-1M: ring",
            "hosts all-reduce: 0-inf: torus:4x2",
            "broadcast 9-inf: 0-1000: halving-doubling"),
        table.rows().stream().map(AlgorithmTable.Row::toString).toList());
    assertEquals(table.toString(), same.toString());
    assertEquals("here, line 4", table.rows().get(2).source());
    assertEquals(2048, table.rows().get(0).bytes().to());
  }

  @Test
  void whatIsPrintedIsReadAgain() {
    String shipped = AlgorithmTable.SHIPPED.toString();
    String read =
        new AlgorithmTable(
                AlgorithmTable.SHIPPED.rows().stream()
                    .filter(row -> !row.algorithm().family().equals("parameter-server"))
                    .toList())
            .toString();
    assertEquals(read, parse(read).toString());
    assertTrue(shipped.contains("hosts all-reduce: 64K-inf: hierarchical"), shipped);
    assertTrue(parse("").rows().isEmpty());
  }

  @Test
  void ranksCompareWhatIsInTheirRowsAndNotHowTheyAreWritten() {
    String one = fingerprint("all-reduce:0-4K:exchange");
    assertEquals(one, fingerprint("all-reduce : 0-4096 : exchange # mine"));
    assertNotEquals(one, fingerprint("all-reduce:0-4K:ring"));
    assertNotEquals(fingerprint("shipped"), fingerprint(""));
  }

  private static String fingerprint(String rows) {
    return AlgorithmTable.fingerprint(new Algorithm.Auto(rows, "here"), ALGORITHMS);
  }

  /** Errors tell what was given, where, and what would be right. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ring | line 1, column 1: \"ring\": needed is [where] collective [ranks]: bytes: algorithm",
        "all-reduce: | column 12: \"\": needed are bytes and an algorithm",
        "all-reduce:0-4K | column 12: \"0-4K\": needed are bytes and an algorithm, as 0-4K: ring",
        "all-reduce:4K-1K:ring | column 12: \"4K-1K:ring\": needed are bytes",
        "all-reduce:0-4K:ring, | column 22: \"\": needed are bytes",
        "all-reduce:0-4T:ring | \"0-4T:ring\": needed are bytes",
        "all-reduce:0-4K:rang | column 17: \"rang\": 'rang' is no algorithm; there are ring,",
        "all-reduce:0-4K:auto | column 17: \"auto\": 'auto' is no algorithm; there are ring,",
        "all-reduce:0-4K:torus:4 | column 17: \"torus:4\": 'torus:4' is no algorithm",
        "reduce:0-1:ring;all:0-inf:ring | column 17: \"all\": needed is one of all-reduce, reduce-",
        "wires all-reduce:0-inf:ring | column 1: \"wires\": needed is one of all-reduce, reduce-",
        "threads barrier:0-inf:ring | column 9: \"barrier\": needed is one of all-reduce, reduce-",
        "threads:0-inf:ring | column 1: \"threads\": needed is one of all-reduce",
        "all-reduce x:0-inf:ring | column 12: \"x\": needed are ranks, as 4, 3-8 or 9-inf",
        "all-reduce 3 4:0-inf:ring | column 14: \"4\": needed are ranks",
        "all-reduce 8-3:0-inf:ring | column 12: \"8-3\": needed is the least number of ranks first"
      })
  void whatIsWrongIsToldWithItsPlace(String rows, String said) {
    String message = assertThrows(IllegalArgumentException.class, () -> parse(rows)).getMessage();
    assertTrue(message.startsWith("here, line 1, column "), message);
    assertTrue(message.contains(said), message + " instead of " + said);
  }

  @Test
  void theLineOfAFileIsTold() {
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> parse("reduce: 0-inf: ring\n# nothing\n  reduce: 0-inf: no\n"))
            .getMessage();
    assertTrue(message.startsWith("here, line 3, column 18: \"no\": "), message);
  }
}
