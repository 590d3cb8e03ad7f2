package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Objects;
import org.junit.jupiter.api.Test;

class InlineChannelsTest {
  private static final int ALL_BUT_THE_WORLDS = 0b1110;

  private static Group group(InlineChannel channel) {
    return new Group(77, new int[] {0, 1}, 0, channel);
  }

  @Test
  void whatIsOfferedIsTakenUntilOneIsAgreedOn() {
    InlineChannels channels = new InlineChannels(true);
    int offered = channels.offer();
    assertEquals(ALL_BUT_THE_WORLDS, offered);
    assertEquals(0, channels.offer(), "another thread makes a group, too");
    channels.settle(offered, InlineChannel.of(2, 0b0100, 0));
    assertEquals(0b1010, channels.offer());
  }

  @Test
  void aGroupThatIsLeftGivesItsChannelBackOnce() {
    InlineChannels channels = new InlineChannels(true);
    InlineChannel agreed = InlineChannel.of(2, channels.offer(), 0);
    channels.settle(ALL_BUT_THE_WORLDS, agreed);
    Group group = group(Objects.requireNonNull(agreed));
    group.nextSequence = 10;
    long last = agreed.message(9);
    channels.left(group);
    channels.left(group);
    assertEquals(ALL_BUT_THE_WORLDS, channels.offer());
    InlineChannel again = InlineChannel.of(2, ALL_BUT_THE_WORLDS, channels.first());
    assertTrue(
        Objects.requireNonNull(again).message(0) > last, "no message is taken for a new one");
  }

  @Test
  void survivorsGoOnWithOtherNumbers() {
    InlineChannel channel = new InlineChannel(2, 100);
    InlineChannel survivors = channel.ofSurvivors(50);
    assertEquals(2, survivors.number());
    assertTrue(survivors.message(0) > channel.message(1000));
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
    assertNull(InlineChannel.of(1, ALL_BUT_THE_WORLDS, 0));
    assertNull(InlineChannel.of(17, ALL_BUT_THE_WORLDS, 0));
    assertNull(InlineChannel.of(2, 0, 0), "none in common");
    assertNull(InlineChannel.ofWorld(17));
    assertNotNull(InlineChannel.ofWorld(16));
    assertNotEquals(InlineChannel.ofWorld(2), InlineChannel.of(2, ALL_BUT_THE_WORLDS, 0));
    assertEquals(0, new InlineChannels(false).offer(), "the transport has none");
  }
}
