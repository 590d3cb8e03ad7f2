package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ElementType;
import io.collectives.engine.memory.Memory;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.ViewSink;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Places in memory that peers reach: who gets one, and when it is used again. */
class LandingTest {
  private static final int LIMIT = 1 << 20;
  private static final int[] PEERS = {1, 2};

  private final Shared shared = new Shared();
  private final List<String> warnings = new ArrayList<>();
  private final Landing landing = new Landing(shared, LIMIT, warnings::add);

  private Landing.@Nullable Place take(int rooms, long count) {
    return landing.take(ElementType.FLOAT32, rooms, count, PEERS);
  }

  private static Landing.Place taken(Landing.@Nullable Place place) {
    return Objects.requireNonNull(place, "a place");
  }

  @Test
  void aPlaceIsUsedAgainOnceItIsGivenBack() {
    Landing.Place first = taken(take(4, 1001));
    Memory[] rooms = first.rooms();
    assertEquals(4, rooms.length);
    for (Memory room : rooms) {
      assertEquals(1001, room.count());
      assertTrue(room.liesIn(shared.made.get(0)));
    }
    Landing.Place second = taken(take(4, 1001));
    assertEquals(2, shared.made.size(), "two calls under way have memory of their own");
    first.giveBack();
    assertSame(first, take(4, 1001));
    assertSame(rooms, first.rooms(), "nothing is made for a call like the one before");
    second.giveBack();
    assertSame(second, take(2, 500));
    assertEquals(2, second.rooms().length);
    assertEquals(500, second.rooms()[1].count());
    assertEquals(2, shared.made.size());
    assertEquals(List.of("announced", "announced"), shared.events);
  }

  @Test
  void aPlaceIsAllOfItsRegionAsElementsOfAnyType() {
    Landing.Place place = taken(landing.take(100_000, PEERS));
    Memory floats = place.whole(ElementType.FLOAT32);
    assertSame(floats, place.whole(ElementType.FLOAT32));
    assertTrue(floats.count() >= 25_000 && floats.liesIn(place.region()));
    assertEquals(2 * place.whole(ElementType.INT64).count(), floats.count());
    assertNull(landing.take(0, PEERS));
    assertNull(landing.take(LIMIT + 1, PEERS));
    Landing.Place other = taken(landing.take(100_000, PEERS));
    assertEquals(2, shared.made.size(), "two calls under way have memory of their own");
    other.giveBack();
    assertSame(other, landing.take(1, PEERS));
  }

  @Test
  void aLongerPlaceTakesThatOfAShorterOne() {
    taken(take(1, 1000)).giveBack();
    long before = landing.bytes();
    Landing.Place longer = taken(take(1, 50_000));
    assertEquals(List.of("announced", "closed", "announced"), shared.events);
    assertTrue(landing.bytes() >= 200_000 && landing.bytes() < 400_000 && before < 200_000);
    longer.giveBack();
    taken(landing.take(ElementType.FLOAT32, 1, 1000, new int[] {2}));
    assertEquals(3, shared.made.size(), "others do not reach that of these");
  }

  @Test
  void beyondItsLimitAndWhereNobodyReachesItThereIsNone() {
    assertNull(take(1, LIMIT / 4 + 1));
    assertNull(take(1, 0));
    assertNull(landing.take(ElementType.FLOAT32, 1, 1000, new int[] {3}));
    assertNull(new Landing(null, LIMIT, warnings::add).take(ElementType.FLOAT32, 1, 1, PEERS));
    Landing.Place half = taken(take(1, LIMIT / 8));
    assertNotNull(landing.take(ElementType.FLOAT32, 1, LIMIT / 8, new int[] {1}));
    assertEquals(LIMIT, landing.bytes());
    assertNull(landing.take(ElementType.FLOAT32, 1, 1, new int[] {2}));
    half.giveBack();
    assertNotNull(landing.take(ElementType.FLOAT32, 1, 1, new int[] {2}), "what is free goes");
    landing.close();
    assertEquals(0, landing.bytes());
    assertEquals(3, shared.events.stream().filter("closed"::equals).count());
    assertNull(take(1, 1));
  }

  /** A region that cannot be made is not tried again for each call. */
  @Test
  void whereThereIsNoSpaceItSaysSoOnce() {
    shared.error = new IOException("no space");
    assertNull(take(1, 1000));
    shared.error = null;
    assertNull(take(1, 1000));
    assertEquals(1, warnings.size());
    assertTrue(warnings.get(0).contains("[1, 2]") && warnings.get(0).contains("no space"));
  }

  /** Makes regions that ranks 1 and 2 reach. */
  private static final class Shared implements MemoryLeases {
    private final List<Region> made = new ArrayList<>();
    private final List<String> events = new ArrayList<>();
    private @Nullable IOException error;

    @Override
    public boolean reaches(int peer) {
      return peer < 3;
    }

    @Override
    public void viewBy(ViewSink sink) {}

    @Override
    public Region createRegion(int length, int[] peers) throws IOException {
      if (error != null) {
        throw error;
      }
      ByteBuffer bytes = ByteBuffer.allocateDirect(length);
      Region region =
          new Region() {
            @Override
            public int number() {
              return 1;
            }

            @Override
            public ByteBuffer bytes() {
              return bytes.duplicate();
            }

            @Override
            public void map(int peer, int number) {
              throw new AssertionError("it is announced");
            }

            @Override
            public FrameBytes hold(int peer) {
              throw new AssertionError("it is announced");
            }

            @Override
            public void share() {
              throw new AssertionError("it is announced");
            }

            @Override
            public void announce() {
              events.add("announced");
            }

            @Override
            public void close() {
              events.add("closed");
            }
          };
      made.add(region);
      return region;
    }
  }
}
