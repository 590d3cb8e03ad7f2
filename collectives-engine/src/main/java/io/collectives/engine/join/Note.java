package io.collectives.engine.join;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one small file of a meeting says: lines of {@code key=value}, closed by the line {@code
 * end}, so that a file that is still being written is told from a damaged one.
 *
 * @param values what the file says
 * @param problem why it cannot be read, or nothing
 */
record Note(Map<String, String> values, @Nullable String problem) {

  /** The most bytes of a file; no more are read of any. */
  static final int LONGEST = 4096;

  private static final String END = "end";

  /** A note that says nothing yet. */
  Note() {
    this(new LinkedHashMap<>(), null);
  }

  /** Adds a line; what would break it is replaced by blanks. */
  Note with(String key, Object value) {
    values.put(key, value.toString().replaceAll("\\p{Cntrl}", " "));
    return this;
  }

  /** The value of a key, or an empty text. */
  String text(String key) {
    return values.getOrDefault(key, "");
  }

  /** The value of a key as a number, or -1. */
  int number(String key) {
    try {
      return Integer.parseInt(text(key));
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  /**
   * Reads a file.
   *
   * @return nothing if it is not there; a note with a problem if it is no note, or not a whole one
   *     yet
   */
  static @Nullable Note read(Path file) {
    byte[] bytes;
    try (InputStream in = Files.newInputStream(file)) {
      bytes = in.readNBytes(LONGEST + 1);
    } catch (NoSuchFileException e) {
      return null;
    } catch (IOException e) {
      // A file that is replaced while it is read can fail on a network file system; the next poll
      // tells.
      return new Note(Map.of(), "cannot be read: " + e.getMessage());
    }
    if (bytes.length > LONGEST) {
      return new Note(Map.of(), "is longer than " + LONGEST + " bytes");
    }
    String text = new String(bytes, StandardCharsets.UTF_8);
    if (!text.endsWith("\n" + END + "\n")) {
      return new Note(Map.of(), "does not end with the line \"" + END + "\"");
    }
    Map<String, String> values = new LinkedHashMap<>();
    for (String line : text.substring(0, text.length() - END.length() - 1).split("\n")) {
      int equals = line.indexOf('=');
      if (equals < 1 || values.put(line.substring(0, equals), line.substring(equals + 1)) != null) {
        return new Note(Map.of(), "has a line that is not key=value with a new key");
      }
    }
    return new Note(values, null);
  }

  /**
   * Makes {@code file} this note, whole and at once, if there is no such file.
   *
   * @param draft a name that nobody else uses
   * @return whether this note became the file
   */
  boolean create(Path file, Path draft) throws IOException {
    Files.write(draft, bytes());
    try {
      Files.createLink(file, draft);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    } catch (UnsupportedOperationException | FileSystemException e) {
      // A file system without hard links: the line "end" tells readers when all is there.
      try {
        Files.write(file, bytes(), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        return true;
      } catch (FileAlreadyExistsException taken) {
        return false;
      }
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  /**
   * Makes {@code file} this note, whole and at once, whatever it was.
   *
   * @param draft a name that nobody else uses
   */
  void replace(Path file, Path draft) throws IOException {
    try {
      Files.write(draft, bytes());
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  private byte[] bytes() throws IOException {
    StringBuilder text = new StringBuilder();
    values.forEach((key, value) -> text.append(key).append('=').append(value).append('\n'));
    byte[] bytes = text.append(END).append('\n').toString().getBytes(StandardCharsets.UTF_8);
    if (bytes.length > LONGEST) {
      throw new IOException("a note of " + bytes.length + " bytes; the most is " + LONGEST);
    }
    return bytes;
  }
}
