package io.collectives.engine.sharedmemory;

import io.collectives.ProtocolException;
import io.collectives.internal.FrameCodec;
import io.collectives.internal.InlineSlots;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The frames of two ranks to each other, in memory that both have mapped.
 *
 * <p><b>Layout.</b> One file for a pair: control words, then a ring of bytes for each direction.
 * The <em>maker</em> is the rank that has made the file, the <em>taker</em> the other one.
 *
 * <pre>
 *      0  tail of the maker's ring     128  head of the maker's ring
 *    256  tail of the taker's ring     384  head of the taker's ring
 *    512  1 or 2 if the maker sleeps     640  1 or 2 if the taker sleeps
 *   4096  states of what the maker leases, 64 bytes apart: the owner's word, 32: the lessee's
 *   8192  states of what the taker leases
 *  12288  the {@link InlineSlots} in which the maker writes and the taker reads
 *  32768  the slots in which the taker writes
 *  53248  the maker's ring: what it sends
 *      …  the taker's ring, at the next multiple of 4096
 *
 *   a ring:  │ record │ record │ … free … │ record │ record │ skip │
 *                              ▲ tail     ▲ head
 *   a record: header (128 bytes, {@link FrameCodec}), body, padding to a multiple of 64
 *   a record of a leased body:
 *      LEASED, number of pieces, index of its state (-1: it is there already), 0
 *      for each piece: region, where in it, length; target region (-1: none), where in it; 0
 *      padding to a multiple of 64, header
 *   a record of a {@link RegionNote}: its word, number of the region, length, padding to 128 bytes
 * </pre>
 *
 * <p>Tail and head count bytes since the beginning and never turn back: tail is what has been
 * written, head what has been read, and {@code 0 <= tail - head <= capacity}. Each word has one
 * writer, and they lie 128 bytes apart, so that no two share a cache line, nor a pair of lines that
 * is fetched at once. A record is never broken: where it does not fit before the end of the ring
 * there is a word that says so (skip), and it begins at the front. A ring has room for at least two
 * longest records, so an empty one takes any record, wherever its tail is.
 *
 * <p><b>Order.</b> The writer stores a record and then releases the tail; the reader acquires the
 * tail and then loads the record. The reader loads the record and then releases the head; the
 * writer acquires the head and then stores over it. So a record is seen whole, and is not written
 * over while it is read. The Java memory model speaks of one process; but these are the same
 * machine instructions on the same physical memory, which is coherent whoever maps it.
 *
 * <p><b>Lines.</b> Between cores that share no cache a store to a line that the other core has read
 * takes four times as long as to one that it has written. So the reader stores to each line of a
 * record what is there, before it gives the record back, which costs it little.
 *
 * <p><b>Leases.</b> A body that lies in a {@linkplain SharedRegion region} is not copied. Its
 * record names the places, and a state: two words, one of which each rank writes.
 *
 * <pre>
 *   owner:   granted ──────────────▶ revoked, when its call fails
 *   lessee:  nothing ──▶ held ──▶ over   (held only if it is to write, and is not revoked)
 * </pre>
 *
 * <p>A lessee that only reads asks afterwards whether the lease was revoked; the owner puts a full
 * fence between the revoking and whatever its user writes then, the lessee one that keeps loads in
 * order between what it has read and the asking. So a lessee that has read something that was
 * written after the revoking sees the revoking; on processors that let a store pass an earlier
 * store, too. A lessee that is to write says that it holds the lease, and then looks whether it is
 * revoked; an owner says that it is revoked, and then looks whether it is held. There is a full
 * fence between the two steps on either side, so at least one of the two sees what the other has
 * said: the lessee does not write, or the owner waits. A state is used again when the lease is
 * over.
 *
 * <p><b>Sleep.</b> A rank that is about to sleep writes what it waits for into its word, and then
 * looks once more whether it is there; one that has written a tail or a head looks at the word
 * afterwards. There is a full fence between the two steps on either side, so at least one of the
 * two sees what the other has done: no wake-up is lost. A rank that finds the other asleep takes
 * the word back to zero and then wakes it, through the socket of the two; so there is one wake-up
 * for each sleep. (If the other one has just woken by itself and fallen asleep again, its new wish
 * is taken back, too; but then the wake-up is still to come.)
 *
 * <p><b>Failure.</b> A rank may die at any instruction. What it has not released is not seen; what
 * it has released is whole. Its words stay as they are, in memory that the other one still has. So
 * a reader reads what was sent before a death, and nobody waits for a word of a dead rank, because
 * the socket of the two tells of the death.
 *
 * <p><b>Trust.</b> Whatever is read from shared memory is checked before it is used as an index or
 * a length, and is not read again after that. So a peer that writes impossible values causes a
 * {@link ProtocolException}, never an access out of bounds. Headers are made and read in memory of
 * this process and copied: a header does not change after it was checked, and its checksum is never
 * taken of memory that may be gone, because somebody has shortened the file ({@link MappedMemory}).
 *
 * <p>One class because the layout, the order of stores and loads, and the code that keeps both are
 * read, and changed, together.
 */
final class Ring {
  /** The length of a ring's record of an empty body. */
  static final int SMALLEST_RECORD = FrameCodec.HEADER_LENGTH;

  /** The longest body that the settings allow; see {@link io.collectives.CallSettings}. */
  private static final int LONGEST_BODY = 64 * 1024 * 1024;

  private static final int LONG_RECORD = 256 * 1024;
  private static final int ALIGNMENT = 64;
  private static final int PAGE = 4096;
  private static final int LEASES = PAGE;
  private static final int SLOTS = 3 * PAGE;
  private static final int SLOTS_DISTANCE = 5 * PAGE;
  private static final int CONTROL_LENGTH = SLOTS + 2 * SLOTS_DISTANCE;
  private static final int WORD_DISTANCE = 128;
  private static final int SKIP = 'S' | 'K' << 8 | 'I' << 16 | 'P' << 24;
  private static final int LEASED = 'L' | 'E' << 8 | 'N' << 16 | 'T' << 24;
  private static final int PIECES_AT = 16;
  private static final int PIECE_LENGTH = 24;
  private static final VarHandle WORD =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private Ring() {}

  /** The side of a rank in its pair. */
  enum Side {
    /** The rank that has made the file. */
    MAKER,
    /** The rank that has mapped the file of the other one. */
    TAKER
  }

  /** The length of the record of a frame whose body has so many bytes. */
  static long recordLength(int bodyLength) {
    return (long) FrameCodec.HEADER_LENGTH + bodyLength + ALIGNMENT - 1 & -ALIGNMENT;
  }

  /**
   * The length of the record of a leased body; more than an {@code int} holds if there are many.
   */
  static long leasedLength(int pieces) {
    return FrameCodec.HEADER_LENGTH + placesLength(pieces);
  }

  private static long placesLength(int pieces) {
    return PIECES_AT + (long) PIECE_LENGTH * pieces + ALIGNMENT - 1 & -ALIGNMENT;
  }

  /** The length of the longest record that any settings ask for. */
  static long mostRecordLength() {
    return recordLength(LONGEST_BODY);
  }

  /**
   * The length of a ring for records of at most so many bytes: room for four, so that two slabs are
   * in flight both ways round; for two, where they are so long that more would only leave the
   * caches.
   */
  static int capacity(int recordLength) {
    return (recordLength <= LONG_RECORD ? 4 : 2) * recordLength;
  }

  /**
   * Returns whether a peer may have made rings of this capacity for records of at most so many
   * bytes.
   */
  static boolean isCapacity(int capacity, int recordLength) {
    return capacity % ALIGNMENT == 0
        && capacity >= 2 * recordLength
        && capacity <= 2 * mostRecordLength();
  }

  /** The length of the file of two rings of so many bytes. */
  static long fileLength(int capacity) {
    return base(Side.TAKER, capacity) + capacity;
  }

  private static long base(Side side, int capacity) {
    return side == Side.MAKER
        ? CONTROL_LENGTH
        : CONTROL_LENGTH + ((long) capacity + PAGE - 1 & -PAGE);
  }

  private static int word(Side side, int index) {
    return (2 * side.ordinal() + index) * WORD_DISTANCE;
  }

  /** Returns the slots in which a rank writes and the other one reads. */
  static InlineSlots slots(FrameBytes bytes, Side from) {
    return new InlineSlots(bytes, SLOTS + from.ordinal() * SLOTS_DISTANCE);
  }

  /** The writing end of a ring. */
  static final class Writer {
    private final FrameBytes bytes;
    private final ByteBuffer words;
    private final int base;
    private final int capacity;
    private final int tailWord;
    private final int headWord;
    private long tail;
    private long head; // As last seen.
    private int at; // Where the tail is in the ring.
    private long claimed; // From the tail on; with what is skipped.
    private int claimedEnd; // Where the tail will be in the ring.

    Writer(FrameBytes bytes, Side side, int capacity) {
      this.bytes = bytes;
      this.words = bytes.bytes();
      this.base = (int) base(side, capacity);
      this.capacity = capacity;
      this.tailWord = word(side, 0);
      this.headWord = word(side, 1);
    }

    /**
     * Finds room for a record, which may be given up again as long as it is not published.
     *
     * @return the index of its first byte, a multiple of 64; -1 if there is no room now
     */
    int claim(int recordLength) {
      int left = capacity - at;
      boolean skip = recordLength > left;
      long wanted = skip ? (long) left + recordLength : recordLength;
      if (tail + wanted - head > capacity && tail + wanted - readHead() > capacity) {
        return -1;
      }
      if (skip) {
        if (left > 0) {
          words.putInt(base + at, SKIP);
        }
      }
      int start = skip ? 0 : at;
      claimed = wanted;
      claimedEnd = start + recordLength;
      return base + start;
    }

    /**
     * Writes the beginning of a record of a leased body.
     *
     * @param at the index of its first byte
     * @param state the index of its state; -1 if it is there already
     * @return the index of its header
     */
    int lease(int at, int pieces, int state) {
      words.putInt(at, LEASED);
      words.putInt(at + 4, pieces);
      words.putInt(at + 8, state);
      words.putInt(at + 12, 0);
      return at + (int) placesLength(pieces);
    }

    /** Writes the place of a piece of a leased body. */
    void piece(
        int at, int piece, int region, int offset, int length, int targetRegion, int targetOffset) {
      int to = at + PIECES_AT + PIECE_LENGTH * piece;
      words.putInt(to, region);
      words.putInt(to + 4, offset);
      words.putInt(to + 8, length);
      words.putInt(to + 12, targetRegion);
      words.putInt(to + 16, targetOffset);
      words.putInt(to + 20, 0);
    }

    /** Writes a record of a note. */
    void note(int at, RegionNote note) {
      words.putInt(at, note.kind().word);
      words.putInt(at + 4, note.region());
      words.putInt(at + 8, note.length());
    }

    /** Returns the index behind the last byte of what was claimed. */
    int claimedEnd() {
      return base + claimedEnd;
    }

    /** Shows the reader what was claimed and has been written. */
    void publish() {
      tail += claimed;
      at = claimedEnd;
      WORD.setRelease(words, tailWord, tail);
    }

    /** Returns whether anything was ever written. */
    boolean isUsed() {
      return tail > 0;
    }

    /** Returns whether the reader has read something since {@link #claim} last looked. */
    boolean hasMoreRoom() {
      return (long) WORD.getAcquire(words, headWord) != head;
    }

    private long readHead() {
      long seen = (long) WORD.getAcquire(words, headWord);
      if (seen < head || seen > tail || seen % ALIGNMENT != 0) {
        throw new ProtocolException(
            "the head of a ring is " + seen + ", expected from " + head + " to " + tail);
      }
      head = seen;
      return seen;
    }

    FrameBytes bytes() {
      return bytes;
    }
  }

  /** The reading end of a ring. */
  static final class Reader {
    private final FrameBytes bytes;
    private final ByteBuffer words;
    private final int base;
    private final int capacity;
    private final int tailWord;
    private final int headWord;
    private long tail; // As last seen.
    private long head;
    private int at; // Where the head is in the ring.
    private int length; // Of the present record.
    private int recordAt; // The index of the present record,
    private int kind; // LEASED, the word of a note, or 0 for one with a body,
    private int pieces; // and of a leased body.
    private int zero; // Always; were it final, compilers would find that nothing changes.
    private final FrameBytes copy = // Of the present header.
        new FrameBytes(ByteBuffer.allocateDirect(FrameCodec.HEADER_LENGTH));

    /**
     * A reader.
     *
     * @param side which writes
     */
    Reader(FrameBytes bytes, Side side, int capacity) {
      this.bytes = bytes;
      this.words = bytes.bytes();
      this.base = (int) base(side, capacity);
      this.capacity = capacity;
      this.tailWord = word(side, 0);
      this.headWord = word(side, 1);
    }

    /** Returns whether there is something that has not been seen by {@link #look}, or not read. */
    boolean hasMore() {
      return (long) WORD.getAcquire(words, tailWord) != head;
    }

    /**
     * Sees what has been written until now.
     *
     * @return whether there is something to read
     */
    boolean look() {
      long seen = (long) WORD.getAcquire(words, tailWord);
      if (seen == head) {
        return false;
      }
      if (seen < tail || seen - head > capacity || seen % ALIGNMENT != 0) {
        throw new ProtocolException(
            "the tail of a ring is "
                + seen
                + ", expected from "
                + tail
                + " to "
                + (head + capacity)
                + ", as "
                + head
                + " bytes have been read");
      }
      tail = seen;
      return true;
    }

    /**
     * Finds the next record that was seen by {@link #look}.
     *
     * @return the index of its body, a multiple of 64; -1 if all have been read
     */
    int next(FrameCodec codec, FrameHeader header) {
      if (head == tail) {
        return -1;
      }
      if (at == capacity) {
        at = 0;
      }
      if (words.getInt(base + at) == SKIP) {
        int skipped = capacity - at;
        if (skipped >= tail - head) {
          throw new ProtocolException(
              "the rest of a ring, "
                  + skipped
                  + " bytes, is skipped, but only "
                  + (tail - head)
                  + " have been written");
        }
        head += skipped;
        at = 0;
      }
      long room = Math.min(tail - head, capacity - at);
      if (room < SMALLEST_RECORD) {
        throw new ProtocolException("a header is cut off after " + room + " bytes");
      }
      recordAt = base + at;
      int word = words.getInt(recordAt);
      if (word == LEASED) {
        kind = word;
        return nextLeased(codec, header, room);
      }
      if (RegionNote.Kind.isAny(word)) {
        kind = word;
        length = SMALLEST_RECORD;
        return recordAt;
      }
      kind = 0;
      decode(codec, base + at, header);
      long recordLength = recordLength(header.length);
      if (recordLength > room) {
        throw new ProtocolException(
            "a body of " + header.length + " bytes is cut off by the end of " + room + " bytes");
      }
      length = (int) recordLength;
      return base + at + FrameCodec.HEADER_LENGTH;
    }

    private int nextLeased(FrameCodec codec, FrameHeader header, long room) {
      pieces = words.getInt(recordAt + 4);
      if (pieces < 0 || leasedLength(pieces) > room) {
        throw new ProtocolException(
            "a leased body of " + pieces + " pieces is cut off by the end of " + room + " bytes");
      }
      length = (int) leasedLength(pieces);
      int headerAt = recordAt + (int) placesLength(pieces);
      decode(codec, headerAt, header);
      return headerAt;
    }

    private void decode(FrameCodec codec, int headerAt, FrameHeader header) {
      copy.bytes().putInt(0, 0); // If the memory is gone, nothing is copied.
      copy.bytes().put(0, words, headerAt, FrameCodec.HEADER_LENGTH);
      codec.decode(copy, 0, header);
    }

    /** Returns the index of the present record's first byte. */
    int recordAt() {
      return recordAt;
    }

    /** Returns the index behind the present record's last byte. */
    int recordEnd() {
      return recordAt + length;
    }

    /** The checksum of the present record's body, as its header says it. */
    int bodyChecksum() {
      return FrameCodec.bodyChecksum(copy, 0);
    }

    /** Returns the note that the present record is; null if it is of a frame. */
    @Nullable RegionNote note() {
      return kind == 0 || kind == LEASED
          ? null
          : RegionNote.of(kind, words.getInt(recordAt + 4), words.getInt(recordAt + 8));
    }

    /** Returns whether the present record says where a leased body is. */
    boolean isLeased() {
      return kind == LEASED;
    }

    int pieces() {
      return pieces;
    }

    /** Returns the index of the state of a leased body; -1 if the body is there already. */
    int state() {
      return words.getInt(recordAt + 8);
    }

    /** Returns the region of a piece. The caller must check it, as all values below. */
    int region(int piece) {
      return words.getInt(pieceAt(piece));
    }

    int offset(int piece) {
      return words.getInt(pieceAt(piece) + 4);
    }

    int length(int piece) {
      return words.getInt(pieceAt(piece) + 8);
    }

    /** Returns the region to which a piece is to be written; -1 if there is none. */
    int targetRegion(int piece) {
      return words.getInt(pieceAt(piece) + 12);
    }

    int targetOffset(int piece) {
      return words.getInt(pieceAt(piece) + 16);
    }

    private int pieceAt(int piece) {
      return recordAt + PIECES_AT + PIECE_LENGTH * piece;
    }

    /**
     * Gives the present record's memory back to the writer, and erases its first word: if the
     * writer's next stores do not arrive because the memory is gone, the old record is not taken
     * for a new one.
     */
    void consume() {
      words.putInt(recordAt, 0);
      at += length;
      head += length;
      WORD.setRelease(words, headWord, head);
    }

    /** Takes the lines of the present record over, which has been read; see {@link Ring}. */
    void takeOver() {
      takeOver(words, recordAt, recordAt + length, zero);
    }

    /** With what the loop needs at hand: no compiler knows that its stores change no field. */
    private static void takeOver(ByteBuffer ring, int from, int to, int zero) {
      for (int line = from; line < to; line += ALIGNMENT) {
        ring.putInt(line, ring.getInt(line) ^ zero);
      }
    }

    FrameBytes bytes() {
      return bytes;
    }
  }

  /**
   * The states of the leases that one of two ranks, the owner, grants the other one, the lessee.
   * Leases that use the same state one after the other are numbered, from 1 on.
   */
  static final class LeaseStates {
    /** The number of leases that there can be at once. */
    static final int COUNT = 64;

    private final ByteBuffer words;
    private final int base;

    LeaseStates(FrameBytes bytes, Side owner) {
      words = bytes.bytes();
      base = LEASES + owner.ordinal() * COUNT * ALIGNMENT;
    }

    /** Begins a lease. The owner calls this before it publishes the record. */
    void grant(int index, long number) {
      WORD.setRelease(words, ownersWord(index), 2 * number);
    }

    /**
     * Revokes a lease, as its owner. What the owner does next is done after the lessee can see
     * this, so that the lessee does not take what it has read since for what was leased.
     */
    void revoke(int index, long number) {
      WORD.setRelease(words, ownersWord(index), 2 * number + 1);
      VarHandle.fullFence();
    }

    /**
     * Returns, to the owner, whether the lessee keeps a lease that is revoked, because it writes.
     */
    boolean isHeld(int index, long number) {
      return (long) WORD.getAcquire(words, lesseesWord(index)) == 2 * number;
    }

    /**
     * Returns, to the owner, whether the lessee has let go of a lease; of number 0, whatever was
     * before.
     */
    boolean isOver(int index, long number) {
      return number == 0 || (long) WORD.getAcquire(words, lesseesWord(index)) == 2 * number + 1;
    }

    /**
     * Returns, to the owner, whether the lessee's word is one that it can have written for this
     * lease.
     */
    boolean isPossible(int index, long number) {
      long said = (long) WORD.getAcquire(words, lesseesWord(index));
      return said >= 2 * number - 1 && said <= 2 * number + 1 || number == 1 && said == 0;
    }

    /** Returns, to the lessee, the number of the lease. */
    long number(int index) {
      return (long) WORD.getAcquire(words, ownersWord(index)) >> 1;
    }

    /**
     * Holds a lease, as its lessee, before it writes to the leased memory.
     *
     * @return whether the owner will wait for the end of the lease if it wants its memory back
     */
    boolean hold(int index, long number) {
      WORD.setRelease(words, lesseesWord(index), 2 * number);
      VarHandle.fullFence(); // One of the two sees what the other has said.
      if (isGranted(index, number)) {
        return true;
      }
      WORD.setRelease(words, lesseesWord(index), 2 * number - 1);
      return false;
    }

    /** Returns, to the lessee, whether a lease was not revoked until now. */
    boolean isGranted(int index, long number) {
      return (long) WORD.getAcquire(words, ownersWord(index)) == 2 * number;
    }

    /** Ends a lease, as its lessee. */
    void end(int index, long number) {
      WORD.setRelease(words, lesseesWord(index), 2 * number + 1);
    }

    private int ownersWord(int index) {
      return base + Objects.checkIndex(index, COUNT) * ALIGNMENT;
    }

    private int lesseesWord(int index) {
      return ownersWord(index) + ALIGNMENT / 2;
    }
  }

  /** The words by which two ranks tell each other that they sleep. */
  static final class Sleep {
    private static final long AWAKE = 0;
    private static final long FOR_FRAMES = 1;
    private static final long FOR_FRAMES_OR_ROOM = 2;

    private final ByteBuffer words;
    private final int own;
    private final int others;

    Sleep(FrameBytes bytes, Side side) {
      words = bytes.bytes();
      own = (4 + side.ordinal()) * WORD_DISTANCE;
      others = (5 - side.ordinal()) * WORD_DISTANCE;
    }

    /** Says that this rank will sleep; a full fence must follow. */
    void begin(boolean forRoom) {
      WORD.setOpaque(words, own, forRoom ? FOR_FRAMES_OR_ROOM : FOR_FRAMES);
    }

    /** Says that this rank does not sleep any more. */
    void end() {
      WORD.setOpaque(words, own, AWAKE);
    }

    /**
     * Returns whether this rank, which has just published something, must wake the other one. It
     * must then do so, because nobody else will.
     *
     * @param frame a frame, as opposed to room for one
     */
    boolean mustWake(boolean frame) {
      VarHandle.fullFence();
      long wish = (long) WORD.getOpaque(words, others);
      boolean sleeps = frame ? wish != AWAKE : wish == FOR_FRAMES_OR_ROOM;
      if (sleeps) {
        WORD.setRelease(words, others, AWAKE);
      }
      return sleeps;
    }
  }
}
