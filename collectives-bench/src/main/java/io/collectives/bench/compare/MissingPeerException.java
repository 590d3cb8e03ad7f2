package io.collectives.bench.compare;

/** A peer cannot be had here; the message says what is missing and what to do. */
public final class MissingPeerException extends Exception {
  MissingPeerException(String message) {
    super(message);
  }
}
