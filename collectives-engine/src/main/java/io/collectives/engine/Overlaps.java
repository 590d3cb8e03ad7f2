package io.collectives.engine;

import io.collectives.Payload;
import io.collectives.internal.Extents;
import java.lang.ref.WeakReference;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Refuses payloads of a call that overlap where one of them is written. Arrays are compared at
 * once; what took more to find legal is remembered, so that calls with payloads that users keep
 * look it up. Any thread may ask.
 */
final class Overlaps {

  /** The answer for payloads of a call that may not be the same memory. */
  static final long APART = -1;

  private static final int SLOTS = 256;
  private static final int WAYS = 4;

  private final @Nullable Legal[] slots = new Legal[SLOTS];

  /**
   * Checks a payload that is written, and one that is read by the same call; they may be one.
   *
   * @param at the element of the longer one where the shorter one may begin, so that it lies in its
   *     place; {@link #APART} if they must not share memory
   * @return whether it lies in its place
   * @throws IllegalArgumentException if they overlap in another way, or what is written overlaps
   *     itself
   */
  boolean check(String readName, Payload read, String writtenName, Payload written, long at) {
    if (read instanceof Payload.OfArray in && written instanceof Payload.OfArray out) {
      if (in.array() != out.array() || areApart(in, out)) {
        return false;
      }
      long low = in.count() <= out.count() ? in.offset() : out.offset();
      long high = in.count() <= out.count() ? out.offset() : in.offset();
      if (at != APART && low == high + at) {
        return true;
      }
    } else if (read == written && at == 0 && isOfOnePiece(written)) {
      return true;
    }
    synchronized (this) {
      int first = 31 * System.identityHashCode(read) + System.identityHashCode(written);
      int slot = first & SLOTS - 1;
      for (int way = 0; way < WAYS; way++) {
        Legal known = slots[first + way & SLOTS - 1];
        if (known == null || known.refersTo(null)) {
          slot = first + way & SLOTS - 1;
        } else if (known.is(read, written, at)) {
          return known.inPlace;
        }
      }
      boolean inPlace = find(readName, read, writtenName, written, at);
      slots[slot] = new Legal(read, written, at, inPlace);
      return inPlace;
    }
  }

  /** Checks a payload that is written. */
  void check(String name, Payload written) {
    check(name, written, name, written, 0);
  }

  private static boolean areApart(Payload.OfArray a, Payload.OfArray b) {
    return a.offset() + a.count() <= b.offset()
        || b.offset() + b.count() <= a.offset()
        || a.count() == 0
        || b.count() == 0;
  }

  private static boolean isOfOnePiece(Payload payload) {
    return !(payload instanceof Payload.OfParts || payload instanceof Payload.OfTensors);
  }

  private static boolean find(
      String readName, Payload read, String writtenName, Payload written, long at) {
    Extents extents = new Extents();
    extents.add(writtenName, written);
    List<Payload> reads = byType(read);
    List<Payload> writes = byType(written);
    boolean inPlace = at != APART;
    for (int i = 0; i < reads.size(); i++) {
      boolean here = at != APART && i < writes.size() && liesIn(reads.get(i), writes.get(i), at);
      if (!here) {
        extents.check(readName, reads.get(i));
      }
      inPlace &= here;
    }
    return inPlace;
  }

  private static List<Payload> byType(Payload payload) {
    return payload instanceof Payload.OfTensors several ? several.byType() : List.of(payload);
  }

  private static boolean liesIn(Payload read, Payload written, long at) {
    return read.count() <= written.count()
        ? Extents.liesIn(read, written, at)
        : Extents.liesIn(written, read, at);
  }

  /** Payloads that may be passed to a call together. Keeps neither. */
  private static final class Legal extends WeakReference<Payload> {
    final boolean inPlace;
    private final WeakReference<Payload> written;
    private final long at;

    Legal(Payload read, Payload written, long at, boolean inPlace) {
      super(read);
      this.written = new WeakReference<>(written);
      this.at = at;
      this.inPlace = inPlace;
    }

    boolean is(Payload read, Payload written, long at) {
      return this.at == at && refersTo(read) && this.written.refersTo(written);
    }
  }
}
