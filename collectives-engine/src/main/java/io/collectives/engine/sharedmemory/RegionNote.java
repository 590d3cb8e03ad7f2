package io.collectives.engine.sharedmemory;

/**
 * A word of a rank to a peer about a region, in a record of its own; see {@link Ring}.
 *
 * @param region the number by which its owner knows it
 * @param length the bytes of memory of a region that is announced, else 0
 */
record RegionNote(Kind kind, int region, int length) {

  /** The kinds of notes. */
  enum Kind {
    /** The owner leases it no more. */
    GONE('G' | 'O' << 8 | 'N' << 16 | 'E' << 24),
    /** The owner will lease it to whoever maps it. */
    ANNOUNCED('H' | 'E' << 8 | 'R' << 16 | 'E' << 24),
    /** The peer has mapped what was announced. */
    MAPPED('M' | 'A' << 8 | 'P' << 16 | 'D' << 24),
    /** The peer cannot map what was announced. */
    NOT_MAPPED('N' | 'O' << 8 | 'M' << 16 | 'P' << 24);

    private static final Kind[] KINDS = values();

    /** The first word of the record. */
    final int word;

    Kind(int word) {
      this.word = word;
    }

    /** Returns whether a record with this first word is a note. */
    static boolean isAny(int word) {
      return word == GONE.word
          || word == ANNOUNCED.word
          || word == MAPPED.word
          || word == NOT_MAPPED.word;
    }

    private static Kind of(int word) {
      int kind = 0;
      while (KINDS[kind].word != word) {
        kind++;
      }
      return KINDS[kind];
    }
  }

  /** The note of a record with this first word, which {@linkplain Kind#isAny is any}. */
  static RegionNote of(int word, int region, int length) {
    return new RegionNote(Kind.of(word), region, length);
  }
}
