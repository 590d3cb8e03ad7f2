package io.collectives.bench.compare;

/** What the bytes of a peer move through. */
public enum Medium {
  /** Memory that ranks share. */
  MEMORY,
  /** TCP on the loopback interface. */
  TCP
}
