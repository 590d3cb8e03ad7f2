package io.collectives;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Checks of files whose contents are secret. */
final class PrivateFile {
  private static final int LONGEST = 64 * 1024;

  /** The users that may have any permission on a file. */
  enum Readers {
    OWNER("its owner", "600", "rwx------"),
    OWNER_AND_GROUP("its owner and its group", "640", "rwxrwx---");

    private final String who;
    private final String mode;
    private final Set<PosixFilePermission> allowed;

    Readers(String who, String mode, String allowed) {
      this.who = who;
      this.mode = mode;
      this.allowed = PosixFilePermissions.fromString(allowed);
    }
  }

  private PrivateFile() {}

  /**
   * Fails if other users than those have any permission on the file. Where files have no POSIX
   * permissions, as on Windows, nothing is checked.
   */
  static void check(Path file, String what, Readers readers) {
    try {
      PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
      if (view == null) {
        return;
      }
      Set<PosixFilePermission> permissions = view.readAttributes().permissions();
      if (!readers.allowed.containsAll(permissions)) {
        throw new JoinException(
            what
                + " "
                + file
                + " has permissions "
                + PosixFilePermissions.toString(permissions)
                + ", but only "
                + readers.who
                + " may read it: run chmod "
                + readers.mode
                + " "
                + file);
      }
    } catch (IOException e) {
      throw unreadable(file, what, e);
    }
  }

  /**
   * Fails if the file exists and is neither a regular file nor a link to one: reading from a pipe
   * or a device may take for ever.
   */
  static void checkRegular(Path file, String what) {
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      throw new JoinException(what + " " + file + " is not a regular file: give a file instead");
    }
  }

  /** Reads all bytes of a file that only its owner may read. */
  static byte[] read(Path file, String what) {
    checkRegular(file, what);
    check(file, what, Readers.OWNER);
    try (InputStream in = Files.newInputStream(file)) {
      byte[] bytes = in.readNBytes(LONGEST + 1);
      if (bytes.length > LONGEST) {
        throw new JoinException(what + " " + file + " is longer than " + LONGEST + " bytes");
      }
      return bytes;
    } catch (IOException e) {
      throw unreadable(file, what, e);
    }
  }

  static JoinException unreadable(Path file, String what, IOException e) {
    return new JoinException(
        what + " " + file + " cannot be read: " + e.getClass().getSimpleName(), e);
  }
}
