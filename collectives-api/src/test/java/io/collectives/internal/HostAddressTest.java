package io.collectives.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostAddressTest {

  @Test
  void isReadAsItIsWritten() {
    HostAddress here = HostAddress.here(Path.of("/dev/shm/a b"));
    assertTrue(here.isPrintable(), here.toString());
    assertEquals(here, HostAddress.parse(here.toString()));
    assertEquals(
        new HostAddress("node-7", "b00t", Path.of("/x")), HostAddress.parse("node-7/b00t:/x"));
  }

  @Test
  void tellsHostsApartByTheirBoot() {
    HostAddress a = HostAddress.parse("node/boot-1:/x");
    assertTrue(a.isSameHost(HostAddress.parse("other-name/boot-1:/y")), "containers of a host");
    assertFalse(a.isSameHost(HostAddress.parse("node/boot-2:/x")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "127.0.0.1:4711", "node:/x", "node/boot", "/boot:/x", "node/boot:"})
  void refusesWhatIsNone(String text) {
    assertThrows(IllegalArgumentException.class, () -> HostAddress.parse(text));
  }

  @Test
  void cannotAnnounceEveryPath() {
    assertFalse(new HostAddress("a", "b", Path.of("/" + "x".repeat(256))).isPrintable());
    assertFalse(new HostAddress("a", "b", Path.of("/größe")).isPrintable());
  }
}
