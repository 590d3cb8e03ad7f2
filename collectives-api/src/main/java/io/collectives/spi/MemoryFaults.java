package io.collectives.spi;

import java.util.Map;

/**
 * A {@link Transport#capability capability}: tells of memory shared with peers that is gone,
 * because somebody has truncated its file. The JVM throws an {@link InternalError} then, where the
 * memory was used, or in the same thread some time later.
 */
public interface MemoryFaults {

  /** The faults of a transport that shares no memory: there are none. */
  MemoryFaults NONE =
      new MemoryFaults() {
        @Override
        public Map<Integer, Throwable> lostMemory() {
          return Map.of();
        }

        @Override
        public boolean settle() {
          return true;
        }
      };

  /** Returns this capability of a transport, or {@link #NONE}. */
  static MemoryFaults of(Transport transport) {
    MemoryFaults faults = transport.capability(MemoryFaults.class);
    return faults == null ? NONE : faults;
  }

  /**
   * To be asked after an {@link InternalError}. If shared memory is gone, its links are lost, as
   * the sink hears in the next poll, and what was under way when the error came cannot be relied
   * upon.
   *
   * @return why, as in {@link FrameSink#lost}, by peer; nothing if the error means something else
   */
  Map<Integer, Throwable> lostMemory();

  /**
   * To be called before something is done that relies on what was received or sent, from within the
   * sink as well; and by a thread that has used the transport and is about to do something else: an
   * error such as {@link #lostMemory} tells of that is still to come must not come there.
   *
   * @return whether there was none; else what the thread has done cannot be relied upon
   * @throws InternalError if the memory of the frame is gone that the sink has now
   */
  boolean settle();
}
