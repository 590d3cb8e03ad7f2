package io.collectives.engine.auto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.engine.sharedmemory.SharedMemoryDomain;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** All ranks decide the same about a pair, from what was announced. */
class PairingTest {
  private static final int JOBS = 2000;

  private static AutoAddress rank(String boot, String place, int room, String... transports) {
    Map<String, String> addresses = new LinkedHashMap<>();
    for (String name : transports) {
      addresses.put(name, name + "-address");
    }
    return new AutoAddress(new SharedMemoryDomain("host", boot, place, room), addresses);
  }

  @Test
  void theFirstOfACrowdWithoutRoomSaysSo() {
    Pairing tight =
        new Pairing(
            List.of(
                rank("far", "place", 9, "shm", "tcp"),
                rank("boot", "place", 2, "shm", "tcp"),
                rank("boot", "place", 9, "shm", "tcp"),
                rank("boot", "place", 9, "shm", "tcp")));
    assertEquals("tcp", tight.between(1, 2));
    assertEquals(
        "3 ranks of host host could share memory, for which 3 pairs of them need rings, but there is"
            + " room for 2",
        tight.crowding(1));
    assertNull(tight.crowding(0), "it is alone");
    assertNull(tight.crowding(2), "it has been said");
    Pairing wide =
        new Pairing(
            List.of(rank("boot", "place", 1, "shm", "tcp"), rank("boot", "place", 1, "shm")));
    assertEquals("shm", wide.between(0, 1));
    assertNull(wide.crowding(0));
  }

  @Test
  void bothEndsDecideTheSame() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int job = 0; job < JOBS; job++) {
      String what = "seed " + seed + ", job " + job;
      List<AutoAddress> announced = new ArrayList<>();
      int size = 1 + random.nextInt(9);
      for (int rank = 0; rank < size; rank++) {
        announced.add(any(random));
      }
      // Each rank reads for itself what all have announced.
      List<Pairing> pairings = new ArrayList<>();
      for (int rank = 0; rank < size; rank++) {
        pairings.add(
            new Pairing(announced.stream().map(a -> AutoAddress.parse(a.toString())).toList()));
      }
      for (int one = 0; one < size; one++) {
        for (int other = 0; other < size; other++) {
          String name = pairings.get(one).between(one, other);
          assertEquals(name, pairings.get(other).between(other, one), what);
          if (name != null) {
            assertNotNull(announced.get(one).addresses().get(name), what);
            assertNotNull(announced.get(other).addresses().get(name), what);
          }
          boolean same = announced.get(one).where().isSame(announced.get(other).where());
          assertTrue(same || name == null || name.equals("tcp"), what);
          if (one != other && "shm".equals(name)) {
            assertSharesWithTheSame(pairings.get(one), one, other, size, what);
          }
        }
      }
    }
  }

  /** Members of a group find out by themselves whether all of them share memory. */
  private static void assertSharesWithTheSame(
      Pairing pairing, int one, int other, int size, String what) {
    for (int third = 0; third < size; third++) {
      if (third != one && third != other) {
        boolean shares = "shm".equals(pairing.between(one, third));
        assertEquals(shares, "shm".equals(pairing.between(other, third)), what);
      }
    }
  }

  private static AutoAddress any(Random random) {
    Map<String, String> addresses = new LinkedHashMap<>();
    for (String name : Pairing.TRANSPORTS) {
      if (random.nextInt(5) > 0) {
        addresses.put(name, text(random));
      }
    }
    if (addresses.isEmpty()) {
      addresses.put("tcp", "127.0.0.1:1");
    }
    String host = "h" + random.nextInt(3);
    String boot = "b" + random.nextInt(2);
    addresses.computeIfPresent(
        "shm", (name, at) -> random.nextBoolean() ? host + "/" + boot + ":" + at : "~" + at);
    return new AutoAddress(
        new SharedMemoryDomain(host, boot, "p" + random.nextInt(2), random.nextInt(12)), addresses);
  }

  private static String text(Random random) {
    StringBuilder text = new StringBuilder();
    for (int i = 1 + random.nextInt(20); i > 0; i--) {
      text.append(
          random.nextInt(3) == 0
              ? ":% =A".charAt(random.nextInt(5))
              : (char) (' ' + random.nextInt('~' - ' ' + 1)));
    }
    return text.toString();
  }

  @Test
  void addressesSurviveBeingAnnounced() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int i = 0; i < JOBS; i++) {
      AutoAddress address = any(random);
      assertEquals(address, AutoAddress.parse(address.toString()), "seed " + seed);
      assertEquals(
          address.toString().indexOf(':'), address.toString().lastIndexOf(':'), "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "127.0.0.1:5",
        "h/b:p tcp=x",
        "h/b:p/ tcp=x",
        "h/b:p/1",
        "h/b:p/1 tcp",
        "h/b:p/1 tcp=",
        "h/b:p/1 =x",
        "h/b:p/12345678901 tcp=x",
        "h/b:p/1 tcp=\n"
      })
  void refusesWhatIsNoAddress(String text) {
    assertThrows(IllegalArgumentException.class, () -> AutoAddress.parse(text));
  }

  @Test
  void theFastestThatBothHaveIsTaken() {
    Pairing pairing =
        new Pairing(
            List.of(
                rank("b", "p", 9, "shm", "unix", "tcp"),
                rank("b", "p", 9, "shm", "unix", "tcp"),
                rank("b", "p", 9, "unix", "tcp"),
                rank("b", "q", 9, "shm", "unix", "tcp"),
                rank("c", "p", 9, "shm", "unix", "tcp"),
                rank("c", "q", 9, "shm")));
    assertEquals("shm", pairing.between(0, 1));
    assertEquals("unix", pairing.between(0, 2));
    assertEquals("tcp", pairing.between(0, 3), "another directory or user");
    assertEquals("tcp", pairing.between(0, 4), "another host");
    assertEquals(null, pairing.between(0, 5));
  }

  @Test
  void withoutRoomForAllNobodySharesMemory() {
    List<AutoAddress> ranks = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      ranks.add(rank("b", "p", i == 2 ? 6 : 100, "shm", "unix", "tcp"));
    }
    assertEquals("shm", new Pairing(ranks).between(0, 3), "six pairs fit");
    ranks.add(rank("b", "p", 100, "shm", "unix", "tcp"));
    Pairing crowded = new Pairing(ranks);
    for (int rank = 1; rank < 5; rank++) {
      assertEquals("unix", crowded.between(0, rank));
    }
  }
}
