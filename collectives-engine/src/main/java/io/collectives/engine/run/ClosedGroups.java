package io.collectives.engine.run;

import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The ends of the last groups that this rank has left, so that a rank that still needs it there
 * learns of them. A group that was left before {@value #MOST} others is forgotten: a rank that
 * needs this one in it waits until the deadline of its call.
 */
final class ClosedGroups {
  static final int MOST = 1024;

  private final Map<Long, End> ends =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, End> eldest) {
          return size() > MOST;
        }
      };

  void add(Group group) {
    End end = new End(group.cause);
    for (int member = 0; member < group.told.length; member++) {
      if (group.told[member]) {
        end.told.set(group.members[member]);
      }
    }
    ends.put(group.id, end);
  }

  /** Returns the way in which a group has ended, or null if it is not known to have. */
  @Nullable End end(long groupId) {
    return ends.isEmpty() ? null : ends.get(groupId);
  }

  /** The end of a group here. */
  static final class End {
    /** The failure that broke it before it was left, or null if there was none. */
    final @Nullable Failure cause;

    /** The ranks of the job that know. */
    final BitSet told = new BitSet();

    private End(@Nullable Failure cause) {
      this.cause = cause;
    }
  }
}
