package io.collectives.bench.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ConnectionsTest {

  /**
   * Connections are read as iproute2 6.1 writes them, IPv4, IPv6 and a connection that nobody holds
   * any more.
   */
  @Test
  void connectionsAreRead() {
    String text =
"""
ESTAB     0      0                127.0.0.1:40112       127.0.0.1:29500 users:(("java",pid=71,fd=9))
ESTAB 0 12 [::ffff:127.0.0.1]:29500 [::ffff:127.0.0.1]:40112 users:(("java",pid=712,fd=8),("sh",pid=5,fd=3))
TIME-WAIT 0      0                127.0.0.1:1           127.0.0.1:2
""";
    List<Connections.End> ends = Connections.parse(text);
    assertEquals(2, ends.size());
    assertEquals(40112, ends.get(0).port());
    assertEquals(29500, ends.get(0).peerPort());
    assertTrue(ends.get(0).isOf(71));
    assertFalse(ends.get(0).isOf(7));
    assertFalse(ends.get(1).isOf(71));
    assertTrue(ends.get(1).isOf(712) && ends.get(1).isOf(5));
    assertEquals(29500, ends.get(1).port());
  }
}
