package io.collectives.ps;

/** The role of a rank in a job with parameter servers. */
public enum Role {
  /** Computes gradients. */
  WORKER,

  /** The rank adds the gradients of others and computes none: it is a dedicated server. */
  SERVER,

  /**
   * The rank computes gradients and adds those of others, too: it is a server among the workers.
   */
  BOTH;

  boolean works() {
    return this != SERVER;
  }

  boolean serves() {
    return this != WORKER;
  }
}
