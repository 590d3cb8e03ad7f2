package io.collectives.bench;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** The outcome of a run of the command line in this JVM. */
record Invocation(int status, String out, String err) {

  static Invocation of(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine line = Main.commandLine(arguments);
    line.setOut(new PrintWriter(out, true));
    line.setErr(new PrintWriter(err, true));
    int status = Main.run(line, arguments);
    return new Invocation(status, out.toString(), err.toString());
  }
}
