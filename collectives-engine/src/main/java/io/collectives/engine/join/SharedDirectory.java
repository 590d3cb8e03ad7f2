package io.collectives.engine.join;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A directory that all ranks see. Only regular files are opened: others, such as pipes, may hold up
 * who reads them for ever.
 *
 * <p>Threads: used by the one that meets; {@link #close} and {@link #interrupt} by any.
 */
final class SharedDirectory implements Surroundings {
  /** A bit more than the largest job has files, so that no flood of them holds a rank up. */
  private static final int MOST_FILES = 1 << 16;

  private final Path directory;
  private final Path draft;
  private volatile boolean closed;
  private volatile boolean interrupted;
  private volatile @Nullable Thread sleeper;

  /**
   * A directory as one rank uses it.
   *
   * @param ticket what tells the drafts of this rank from those of others, which cannot be guessed
   */
  SharedDirectory(Path directory, String ticket) {
    this.directory = directory;
    this.draft = directory.resolve("collectives-draft-" + ticket);
  }

  /** The user gives it up. */
  void close() {
    closed = true;
    LockSupport.unpark(sleeper);
  }

  /** The user's thread has been interrupted. */
  void interrupt() {
    interrupted = true;
    LockSupport.unpark(sleeper);
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public void pause(long nanos) {
    sleeper = Thread.currentThread();
    if (!closed && !interrupted) {
      LockSupport.parkNanos(this, nanos);
    }
    sleeper = null;
  }

  @Override
  public boolean isClosed() {
    return closed;
  }

  @Override
  public boolean isInterrupted() {
    return interrupted;
  }

  @Override
  public byte @Nullable [] read(Path file) throws IOException {
    try {
      BasicFileAttributes attributes =
          Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      if (!attributes.isRegularFile()) {
        throw new IOException("it is not a regular file");
      }
      try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
        return in.readNBytes(Note.LONGEST + 1);
      }
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  @Override
  public boolean exists(Path file) {
    return Files.exists(file, LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public boolean create(Path file, byte[] bytes) throws IOException {
    Files.write(draft, bytes);
    try {
      Files.createLink(file, draft);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    } catch (UnsupportedOperationException | FileSystemException e) {
      // A file system without hard links: the line "end" tells readers when all is there.
      try {
        Files.write(file, bytes, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        return true;
      } catch (FileAlreadyExistsException taken) {
        return false;
      }
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  @Override
  public void replace(Path file, byte[] bytes) throws IOException {
    try {
      Files.write(draft, bytes);
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  @Override
  public boolean delete(Path file) throws IOException {
    return Files.deleteIfExists(file);
  }

  @Override
  public List<Path> list(String prefix) throws IOException {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, prefix + "*")) {
      for (Path file : files) {
        if (found.size() == MOST_FILES) {
          break;
        }
        found.add(file);
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return found;
  }
}
