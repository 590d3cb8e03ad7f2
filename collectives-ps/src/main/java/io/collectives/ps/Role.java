package io.collectives.ps;

/** What a rank of a job with parameter servers does. */
public enum Role {
  /** Computes gradients. */
  WORKER,

  /** Adds the gradients of others and computes none: a dedicated server. */
  SERVER,

  /** Computes gradients and adds those of others, too: a server among the workers. */
  BOTH;

  boolean works() {
    return this != SERVER;
  }

  boolean serves() {
    return this != WORKER;
  }
}
