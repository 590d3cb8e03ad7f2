/**
 * Faults for tests of training loops, and contract tests that implementations of the plug points
 * extend. It is open because JUnit looks into it.
 */
open module io.collectives.testkit {
  requires transitive io.collectives.api;
  requires transitive org.junit.jupiter.api;
  requires org.junit.jupiter.params;

  exports io.collectives.testkit;
}
