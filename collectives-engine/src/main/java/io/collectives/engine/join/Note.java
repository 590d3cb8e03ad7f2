package io.collectives.engine.join;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The content of one small file of a rendezvous: lines of {@code key=value}, closed by the line
 * {@code end}, so that a file that is still being written is told from a damaged one.
 *
 * @param values what the file says
 * @param problem why it cannot be read, or nothing
 */
record Note(Map<String, String> values, @Nullable String problem) {

  /** The most bytes of a file; no more are read of any. */
  static final int LONGEST = 4096;

  private static final String END = "end";

  /** The characters that move the cursor, end a line, or change the direction of the text. */
  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");

  /** A note that says nothing yet. */
  Note() {
    this(new LinkedHashMap<>(), null);
  }

  /** Adds a line; what would break it is replaced by blanks. */
  Note with(String key, Object value) {
    values.put(key, printable(value.toString()));
    return this;
  }

  /** Anybody may have written it, and people will read it. */
  private static String printable(String value) {
    return UNPRINTABLE.matcher(value).replaceAll(" ");
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
  static @Nullable Note read(Path file, Surroundings world) {
    byte[] bytes;
    try {
      bytes = world.read(file);
    } catch (IOException e) {
      // A file that is replaced while it is read can fail on a network file system; the next poll
      // tells.
      return new Note(Map.of(), "cannot be read: " + e.getMessage());
    }
    return bytes == null ? null : parse(bytes);
  }

  /**
   * Returns the note in a file, of which at least the first {@link #LONGEST} bytes and one more are
   * given.
   */
  static Note parse(byte[] bytes) {
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
      if (equals < 1
          || values.put(line.substring(0, equals), printable(line.substring(equals + 1))) != null) {
        return new Note(Map.of(), "has a line that is not key=value with a new key");
      }
    }
    return new Note(values, null);
  }

  /** Returns the bytes of a file that holds this note. */
  byte[] bytes() throws IOException {
    StringBuilder text = new StringBuilder();
    values.forEach((key, value) -> text.append(key).append('=').append(value).append('\n'));
    byte[] bytes = text.append(END).append('\n').toString().getBytes(StandardCharsets.UTF_8);
    if (bytes.length > LONGEST) {
      throw new IOException("a note of " + bytes.length + " bytes; the most is " + LONGEST);
    }
    return bytes;
  }
}
