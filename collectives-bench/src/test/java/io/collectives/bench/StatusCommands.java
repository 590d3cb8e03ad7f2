package io.collectives.bench;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A process that runs {@code collectives status}, again and again, for a test. */
final class StatusCommands implements AutoCloseable {
  private final Process process;
  private final DataOutputStream wanted;
  private final DataInputStream answers;

  /**
   * Starts the process.
   *
   * @param command that runs the main method of this class
   * @param variables of its environment, beside those of the test
   */
  StatusCommands(ProcessBuilder command, Map<String, String> variables) {
    command.environment().putAll(variables);
    command.redirectError(ProcessBuilder.Redirect.DISCARD);
    try {
      process = command.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    wanted = new DataOutputStream(process.getOutputStream());
    answers = new DataInputStream(process.getInputStream());
  }

  /** Runs the command with arguments. */
  Invocation run(String... arguments) throws IOException {
    wanted.writeInt(arguments.length);
    for (String argument : arguments) {
      wanted.writeUTF(argument);
    }
    wanted.flush();
    int status = answers.readInt();
    return new Invocation(status, readText(), readText());
  }

  private String readText() throws IOException {
    return new String(answers.readNBytes(answers.readInt()), StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  /** Runs what standard input asks for, until it ends. */
  public static void main(String[] args) throws IOException {
    DataInputStream wanted = new DataInputStream(System.in);
    DataOutputStream answers = new DataOutputStream(System.out);
    System.setOut(System.err);
    while (true) {
      String[] arguments = new String[1 + wanted.readInt()];
      arguments[0] = "status";
      for (int i = 1; i < arguments.length; i++) {
        arguments[i] = wanted.readUTF();
      }
      Invocation run = Invocation.of(arguments);
      answers.writeInt(run.status());
      for (String text : new String[] {run.out(), run.err()}) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        answers.writeInt(bytes.length);
        answers.write(bytes);
      }
      answers.flush();
    }
  }
}
