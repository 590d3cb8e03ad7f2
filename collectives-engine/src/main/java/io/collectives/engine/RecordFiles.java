package io.collectives.engine;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** Writes the records of a rank into a directory: whole files, which replace earlier ones. */
final class RecordFiles {
  private RecordFiles() {}

  /** Writes the text of a record. */
  interface Text {
    void writeTo(Appendable out) throws IOException;
  }

  /**
   * Writes a file, after the directory is made if there is none.
   *
   * @param name its name without the ending {@code .tsv}
   * @return the file
   */
  static Path write(Path directory, String name, Text text) throws IOException {
    Path file = directory.resolve(name + ".tsv");
    Files.createDirectories(directory);
    Path draft = Files.createTempFile(directory, name, ".draft");
    try (BufferedWriter out = Files.newBufferedWriter(draft)) {
      text.writeTo(out);
    }
    try {
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (AtomicMoveNotSupportedException e) {
      Files.move(draft, file, StandardCopyOption.REPLACE_EXISTING);
    }
    return file;
  }
}
