package io.collectives.engine.run;

import io.collectives.ElementType;
import io.collectives.engine.memory.BufferMemory;
import io.collectives.engine.memory.Memory;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Memory of the library that peers of this rank reach, for two things.
 *
 * <ul>
 *   <li>What this rank relays lands there, so that the next ranks read it there: the memory that
 *       all proxies of a server share (Herring, Thangakrishnan et al. 2020, section III-3).
 *   <li>A contribution that {@linkplain Program.Step#returns returns} as the sum is staged there,
 *       if it lies where the peer does not reach it: the peer reads it there and puts the sum in
 *       its place. Each line is written in turn by the two, which is what costs least between cores
 *       that share no cache.
 * </ul>
 *
 * <p>Each call under way has a place in it, a region of its own; places are used again, and a
 * longer one takes the place of one that is too short.
 *
 * <p>A call gives its place back when it has ended. If it ended well, all who had it leased have
 * said that they are done; else its leases were revoked, and whoever still reads sees that.
 *
 * <p>All places together take at most a number of bytes. Beyond that, or if a region cannot be
 * made, or the peers do not reach it, calls use memory of their own, from which is copied.
 */
final class Landing {
  /** Memories begin at multiples of it, so that no two share a cache line. */
  private static final int ALIGNMENT = 64;

  private static final int SHORTEST = 1 << 16;

  private final @Nullable MemoryLeases leases;
  private final long limit;
  private final Consumer<String> warnings;
  private final List<Place> places = new ArrayList<>();
  private boolean failed;

  /** Read by any thread. */
  private volatile long bytes;

  /**
   * A landing without places.
   *
   * @param leases by which peers reach memory of this rank; nothing if they cannot
   * @param limit of the bytes of all places
   */
  Landing(@Nullable MemoryLeases leases, long limit, Consumer<String> warnings) {
    this.leases = leases;
    this.limit = limit;
    this.warnings = warnings;
  }

  /** Returns the number of bytes that all places take. Any thread may call this. */
  long bytes() {
    return bytes;
  }

  /**
   * Takes a place for a call.
   *
   * @param rooms how many memories
   * @param count the elements of each
   * @param peers who is to reach them, counted in the job
   * @return nothing if none of the peers can, or there is no memory for it
   */
  @Nullable Place take(ElementType type, int rooms, long count, int[] peers) {
    long room = aligned(count * type.bytes());
    Place place = take(rooms * room, peers);
    if (place != null) {
      place.use(type, rooms, (int) room, (int) count);
    }
    return place;
  }

  /**
   * Takes a place for a call, which is not divided.
   *
   * @param bytes how many, at least
   * @param peers who is to reach them, counted in the job
   * @return nothing if none of the peers can, or there is no memory for it
   */
  @Nullable Place take(long bytes, int[] peers) {
    MemoryLeases by = leases;
    if (by == null || failed || bytes == 0 || !reachesAny(by, peers)) {
      return null;
    }
    long length = Math.max(SHORTEST, Long.highestOneBit(bytes - 1) << 1);
    Place place = length > Math.min(limit, 1 << 30) ? null : place(by, (int) length, peers);
    if (place != null) {
      place.used = true;
    }
    return place;
  }

  /** Rounds a number of bytes up, so that what follows shares no cache line with it. */
  static long aligned(long bytes) {
    return bytes + ALIGNMENT - 1 & -ALIGNMENT;
  }

  private static boolean reachesAny(MemoryLeases by, int[] peers) {
    for (int peer : peers) {
      if (by.reaches(peer)) {
        return true;
      }
    }
    return false;
  }

  private @Nullable Place place(MemoryLeases by, int length, int[] peers) {
    for (int i = places.size() - 1; i >= 0; i--) {
      Place place = places.get(i);
      if (!place.used && Arrays.equals(place.peers, peers)) {
        if (place.length >= length) {
          return place;
        }
        close(place);
      }
    }
    for (int i = places.size() - 1; i >= 0 && bytes + length > limit; i--) {
      if (!places.get(i).used) {
        close(places.get(i));
      }
    }
    return bytes + length > limit ? null : make(by, length, peers);
  }

  private @Nullable Place make(MemoryLeases by, int length, int[] peers) {
    try {
      Region region = by.createRegion(length, peers);
      region.announce();
      Place place = new Place(region, length, peers);
      places.add(place);
      bytes += length;
      return place;
    } catch (IOException e) {
      failed = true; // It would most likely fail again, and each time takes long.
      warnings.accept(
          "what goes to ranks "
              + Arrays.toString(peers)
              + " is copied, as there is no memory of this rank that they reach: "
              + e.getMessage());
      return null;
    }
  }

  private void close(Place place) {
    places.remove(place);
    bytes -= place.length;
    place.region.close();
  }

  /** Gives all memory back. No call uses it any more. */
  void close() {
    failed = true;
    while (!places.isEmpty()) {
      close(places.get(places.size() - 1));
    }
  }

  /** The memory of one call. */
  static final class Place {
    private final Region region;
    private final int length;
    private final int[] peers;
    private boolean used;
    private final @Nullable Memory[] whole = new Memory[ElementType.values().length];
    private Memory[] rooms = {};
    private int room;
    private int count;

    private Place(Region region, int length, int[] peers) {
      this.region = region;
      this.length = length;
      this.peers = peers;
    }

    /** Divides it, as it is already for a call of the same shape. */
    private void use(ElementType type, int newRooms, int newRoom, int newCount) {
      if (rooms.length == newRooms
          && room == newRoom
          && count == newCount
          && rooms[0].type() == type) {
        return;
      }
      room = newRoom;
      count = newCount;
      rooms = new Memory[newRooms];
      for (int i = 0; i < newRooms; i++) {
        rooms[i] = BufferMemory.in(region, type, i * room, count);
      }
    }

    /** Returns its memories, each of as many elements as were asked for. */
    Memory[] rooms() {
      return rooms;
    }

    /** Returns all of it as elements of a type. */
    Memory whole(ElementType type) {
      Memory made = whole[type.ordinal()];
      if (made == null) {
        made = BufferMemory.in(region, type, 0, length / type.bytes());
        whole[type.ordinal()] = made;
      }
      return made;
    }

    /** Returns the region that it is. */
    Region region() {
      return region;
    }

    /** The call has ended. */
    void giveBack() {
      used = false;
    }
  }
}
