package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ElementType;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.ViewSink;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class InlineChannelsTest {
  private static final int ALL = 0b1111;
  private static final int ALL_BUT_THE_WORLDS = 0b1110;

  private final InlineChannels channels = new InlineChannels(new OfTheFirstThree(), null);

  private static Group group(@Nullable InlineChannel channel, int other) {
    return new Group(77, new int[] {0, other}, 0, channel);
  }

  @Test
  void whatIsOfferedIsTakenUntilOneIsAgreedOn() {
    channels.added(Group.world(3, 0));
    int offered = channels.offer();
    assertEquals(ALL_BUT_THE_WORLDS, offered);
    assertEquals(0, channels.offer(), "another thread makes a group, too");
    InlineChannel agreed = InlineChannel.of(2, 0b0100, 0);
    channels.added(group(agreed, 1));
    channels.settle(offered, agreed);
    assertEquals(0b1010, channels.offer());
  }

  @Test
  void aGroupThatIsLeftGivesItsChannelBackOnce() {
    InlineChannel agreed = InlineChannel.of(2, channels.offer(), 0);
    Group group = group(agreed, 1);
    channels.added(group);
    channels.settle(ALL, agreed);
    group.nextSequence = 10;
    long last = Objects.requireNonNull(agreed).message(9, 1);
    channels.left(group);
    channels.left(group);
    assertEquals(ALL, channels.offer());
    InlineChannel again = InlineChannel.of(2, ALL, channels.first());
    assertTrue(
        Objects.requireNonNull(again).message(0, 0) > last, "no message is taken for a new one");
  }

  /** Its peers hold theirs, so they may go on. */
  @Test
  void aGroupThatIsLeftGivesItsExchangeBufferBack() throws IOException {
    List<SimulatedRegion> regions = new ArrayList<>();
    MemoryLeases leases =
        new MemoryLeases() {
          @Override
          public boolean reaches(int peer) {
            return peer < 2;
          }

          @Override
          public void viewBy(ViewSink sink) {}

          @Override
          public Region createRegion(int length, int[] peers) {
            return new SimulatedRegion(ElementType.INT8, length, regions);
          }
        };
    InlineChannels sharing = new InlineChannels(new OfTheFirstThree(), leases);
    Group near = group(InlineChannel.of(2, sharing.offer(), 0), 1);
    sharing.added(near);
    Objects.requireNonNull(near.exchangeBuffers).make();
    assertFalse(regions.get(0).isClosed());
    sharing.left(near);
    assertTrue(regions.get(0).isClosed());
    Group far = group(InlineChannel.of(2, sharing.offer(), 0), 2);
    sharing.added(far);
    assertNotNull(far.inlineChannel());
    assertNull(far.exchangeBuffers, "rank 2 does not reach it");
  }

  @Test
  void aGroupWithARankThatIsNotReachedHasNone() {
    Group world = Group.world(4, 0);
    channels.added(world);
    assertNull(world.inlineChannel());
    InlineChannel agreed = InlineChannel.of(2, channels.offer(), 0);
    Group far = group(agreed, 3);
    channels.added(far);
    channels.settle(ALL, agreed);
    assertNull(far.inlineChannel());
    assertEquals(ALL, channels.offer());
  }

  @Test
  void survivorsGoOnWithOtherNumbers() {
    InlineChannel channel = new InlineChannel(2, 100);
    InlineChannel survivors = channel.ofSurvivors(50);
    assertEquals(2, survivors.number());
    assertTrue(survivors.message(0, 0) > channel.message(1000, 1));
  }

  @Test
  void turnsHaveOneOfTwoSlots() {
    InlineChannel channel = new InlineChannel(3, 0);
    assertEquals(6, channel.slot(0));
    assertEquals(7, channel.slot(1));
    assertEquals(6, channel.slot(2));
  }

  @Test
  void someGroupsNeedNone() {
    assertNull(InlineChannel.of(1, ALL, 0));
    assertNull(InlineChannel.of(17, ALL, 0));
    assertNull(InlineChannel.of(2, 0, 0), "none in common");
    assertNull(InlineChannel.ofWorld(17));
    assertNotNull(InlineChannel.ofWorld(16));
    assertNotEquals(InlineChannel.ofWorld(2), InlineChannel.of(2, ALL_BUT_THE_WORLDS, 0));
    assertEquals(0, new InlineChannels(null, null).offer(), "the transport has none");
  }

  /** Rank 0 exchanges messages with ranks 1 and 2. */
  private static final class OfTheFirstThree implements InlineExchange {
    @Override
    public boolean exchangesWith(int peer) {
      return peer < 3;
    }

    @Override
    public boolean post(int peer, int slot, long number, long[] call, FrameBody body) {
      throw new AssertionError();
    }

    @Override
    public boolean take(int peer, int slot, long number, long[] call, FrameBytes body, int length) {
      throw new AssertionError();
    }
  }
}
