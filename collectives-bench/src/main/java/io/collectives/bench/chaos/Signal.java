package io.collectives.bench.chaos;

import io.collectives.bench.process.Command;
import java.io.IOException;

/** Signals that the JDK cannot send. */
enum Signal {
  STOP,
  CONT;

  /**
   * Sends it, by kill(1).
   *
   * @throws IOException if that does not exist or refuses
   */
  void send(Process process) throws IOException {
    Command.run("kill", "-" + name(), Long.toString(process.pid()));
  }
}
