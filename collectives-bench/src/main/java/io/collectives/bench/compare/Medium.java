package io.collectives.bench.compare;

/** The media through which the bytes of a peer move. */
public enum Medium {
  /** Memory that ranks share. */
  MEMORY,
  /** TCP on the loopback interface. */
  TCP
}
