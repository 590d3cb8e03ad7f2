package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ClosedGroupsTest {
  @Test
  void theLastAreKnown() {
    ClosedGroups closed = new ClosedGroups();
    int more = 10;
    for (int id = 0; id < ClosedGroups.MOST + more; id++) {
      closed.add(new Group(id, new int[] {0, 1}, 0, null));
    }
    for (int id = 0; id < ClosedGroups.MOST + more; id++) {
      assertEquals(id >= more, closed.end(id) != null, "group " + id);
    }
  }
}
