package io.collectives.engine.run;

import io.collectives.engine.memory.Memory;
import io.collectives.spi.Region;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The room of a call for its contributions that {@linkplain Program.Step#returns return} as the
 * sum: a {@linkplain Landing.Place place} that peers reach, with a piece for each of them and each
 * slab under way. There is none if peers reach the contributions themselves, or no such memory.
 */
final class Stage {
  private Landing.@Nullable Place place;
  private @Nullable Memory memory;
  private final Program program;
  private int inFlight;
  private long room;

  Stage(Program program) {
    this.program = program;
  }

  /**
   * Takes room for a call that begins, if there is any.
   *
   * @param pieceBytes the most bytes of a slab's piece of a chunk
   * @param slabs how many slabs may be under way at once
   */
  void take(Landing at, int[] peers, Memory input, long pieceBytes, int slabs) {
    if (!input.isInRegion()) {
      inFlight = slabs;
      room = Landing.aligned(pieceBytes);
      place = at.take(inFlight * program.returns * room, peers);
      memory = place == null ? null : place.whole(input.type());
    }
  }

  /** Returns whether there is room. */
  boolean isOpen() {
    return place != null;
  }

  /** Returns its region. */
  Region region() {
    return Objects.requireNonNull(place).region();
  }

  /** Returns all of it, in elements of the call. */
  Memory memory() {
    return Objects.requireNonNull(memory);
  }

  /** Returns the byte at which a slab's piece of a chunk that returns lies. */
  int at(int chunk, int slab) {
    return (int) ((slab % inFlight * program.returns + program.returning(chunk)) * room);
  }

  /** Gives the room back, if there is any; nothing of it is leased any more. */
  void giveBack() {
    if (place != null) {
      place.giveBack();
      place = null;
      memory = null;
    }
  }
}
