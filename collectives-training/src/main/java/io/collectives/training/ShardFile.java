package io.collectives.training;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A file with a rank's shard: weights and state.
 *
 * <pre>
 *   magic, length of the head           8 + 4 bytes
 *   head: version, updates, tensors (name, count, optimizer, states), runs (tensor, offset, count)
 *   CRC-32C of the head                 8
 *   for each run its weights, then each array of state
 *   CRC-32C of these                    8
 * </pre>
 *
 * Runs say where their numbers belong in the tensors, so any number of ranks can read the files of
 * any other number. A file is written under a temporary name, forced to the disk and renamed in one
 * step.
 */
final class ShardFile {
  private static final long MAGIC = 0x636f6c6c73686172L; // "collshar"
  private static final int VERSION = 1;
  private static final int BLOCK = 1 << 16;
  private static final int LONGEST_HEAD = 1 << 28;
  private static final Pattern NAME =
      Pattern.compile(
          "step-(\\d{1,15})\\.rank-(\\d{1,7})-of-(\\d{1,7})"
              + "\\.model-(\\d{1,7})-of-(\\d{1,7})\\.shard");

  private ShardFile() {}

  /** The description of a tensor in a file. */
  record Shape(String name, int count, String optimizer, int states) {
    @Override
    public String toString() {
      return "\"" + name + "\" of " + count + " elements by " + optimizer;
    }
  }

  /** The shards that all ranks have written at one step. */
  record Checkpoint(long updates, int ranks, int models) {
    Path file(Path directory, int rank, int model) {
      return directory.resolve(
          String.format(
              "step-%012d.rank-%d-of-%d.model-%d-of-%d.shard",
              updates, rank, ranks, model, models));
    }
  }

  /** Returns the newest checkpoint of which all files exist; null if there is none. */
  static @Nullable Checkpoint newest(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return null;
    }
    List<Checkpoint> found = new ArrayList<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Matcher name = NAME.matcher(file.getFileName().toString());
        if (name.matches()) {
          found.add(
              new Checkpoint(
                  Long.parseLong(name.group(1)),
                  Integer.parseInt(name.group(3)),
                  Integer.parseInt(name.group(5))));
        }
      }
    }
    if (!found.isEmpty()
        && found.stream().noneMatch(checkpoint -> isWhole(directory, checkpoint))) {
      throw new IOException(
          "it has no checkpoint of which all files are there, but some of step "
              + found.get(0).updates
              + ": bring back the missing ones, or empty it to begin anew");
    }
    return found.stream()
        .distinct()
        .filter(checkpoint -> isWhole(directory, checkpoint))
        .max(
            (a, b) ->
                a.updates != b.updates
                    ? Long.compare(a.updates, b.updates)
                    : Integer.compare(a.ranks, b.ranks))
        .orElse(null);
  }

  private static boolean isWhole(Path directory, Checkpoint checkpoint) {
    for (int model = 0; model < checkpoint.models; model++) {
      for (int rank = 0; rank < checkpoint.ranks; rank++) {
        if (!Files.isRegularFile(checkpoint.file(directory, rank, model))) {
          return false;
        }
      }
    }
    return true;
  }

  /**
   * Writes a shard.
   *
   * @param weights the weights, and states the state, by their place in the shard
   */
  static void write(
      Path file,
      long updates,
      List<Shape> shapes,
      List<ShardLayout.Run> runs,
      float[] weights,
      float[][] states)
      throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    Path temporary = file.resolveSibling(file.getFileName() + ".tmp");
    try (FileChannel channel =
        FileChannel.open(
            temporary,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      OutputStream stream = new BufferedOutputStream(Channels.newOutputStream(channel), BLOCK);
      DataOutputStream out = new DataOutputStream(stream);
      byte[] head = head(updates, shapes, runs);
      CRC32C sum = new CRC32C();
      sum.update(head);
      out.writeLong(MAGIC);
      out.writeInt(head.length);
      out.write(head);
      out.writeLong(sum.getValue());
      sum.reset();
      byte[] block = new byte[BLOCK];
      for (ShardLayout.Run run : runs) {
        write(out, block, weights, run, sum);
        for (int i = 0; i < shapes.get(run.tensor()).states; i++) {
          write(out, block, states[i], run, sum);
        }
      }
      out.writeLong(sum.getValue());
      out.flush();
      channel.force(true);
    }
    Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    if (!System.getProperty("os.name").startsWith("Windows")) {
      // The new name is on the disk only when its directory is.
      try (FileChannel directory =
          FileChannel.open(file.toAbsolutePath().getParent(), StandardOpenOption.READ)) {
        directory.force(true);
      }
    }
  }

  private static byte[] head(long updates, List<Shape> shapes, List<ShardLayout.Run> runs)
      throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(VERSION);
    out.writeLong(updates);
    out.writeInt(shapes.size());
    for (Shape shape : shapes) {
      out.writeUTF(shape.name);
      out.writeInt(shape.count);
      out.writeUTF(shape.optimizer);
      out.writeInt(shape.states);
    }
    out.writeInt(runs.size());
    for (ShardLayout.Run run : runs) {
      out.writeInt(run.tensor());
      out.writeInt(run.offset());
      out.writeInt(run.count());
    }
    return bytes.toByteArray();
  }

  private static void write(
      OutputStream out, byte[] block, float[] values, ShardLayout.Run run, CRC32C sum)
      throws IOException {
    for (int done = 0; done < run.count(); ) {
      int count = Math.min(BLOCK / Float.BYTES, run.count() - done);
      ByteBuffer.wrap(block)
          .order(ByteOrder.LITTLE_ENDIAN)
          .asFloatBuffer()
          .put(values, run.local() + done, count);
      sum.update(block, 0, count * Float.BYTES);
      out.write(block, 0, count * Float.BYTES);
      done += count;
    }
  }

  /**
   * Reads the numbers of a file that belong to a shard.
   *
   * @param runs the runs of that shard
   * @return the number of its weights that the file has
   * @throws IOException if the file cannot be read, is damaged, or is of another model
   */
  static long read(
      Path file,
      long updates,
      List<Shape> shapes,
      List<ShardLayout.Run> runs,
      float[] weights,
      float[][] states)
      throws IOException {
    try (InputStream stream = new BufferedInputStream(Files.newInputStream(file), BLOCK)) {
      DataInputStream in = new DataInputStream(stream);
      if (in.readLong() != MAGIC) {
        throw new IOException("it is no shard of an optimizer");
      }
      int length = in.readInt();
      if (length < 0 || length > LONGEST_HEAD) {
        throw new IOException("its head is damaged");
      }
      byte[] head = in.readNBytes(length);
      CRC32C sum = new CRC32C();
      sum.update(head);
      if (in.readLong() != sum.getValue()) {
        throw new IOException("the checksum of its head is wrong");
      }
      List<ShardLayout.Run> theirs = runs(head, updates, shapes);
      sum.reset();
      byte[] block = new byte[BLOCK];
      long found = 0;
      for (ShardLayout.Run run : theirs) {
        found += read(in, block, run, runs, weights, sum);
        for (int i = 0; i < shapes.get(run.tensor()).states; i++) {
          read(in, block, run, runs, states[i], sum);
        }
      }
      if (in.readLong() != sum.getValue()) {
        throw new IOException("the checksum of its numbers is wrong");
      }
      return found;
    } catch (EOFException e) {
      throw new IOException("it ends too early", e);
    }
  }

  private static List<ShardLayout.Run> runs(byte[] head, long updates, List<Shape> shapes)
      throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(head));
    int version = in.readInt();
    if (version != VERSION) {
      throw new IOException(
          "it has format version " + version + ", this library reads version " + VERSION);
    }
    long theirUpdates = in.readLong();
    if (theirUpdates != updates) {
      throw new IOException("it is of step " + theirUpdates + ", not " + updates);
    }
    int tensors = in.readInt();
    if (tensors != shapes.size()) {
      throw new IOException(
          "it is of a model of " + tensors + " tensors, this one has " + shapes.size());
    }
    for (int i = 0; i < tensors; i++) {
      Shape theirs = new Shape(in.readUTF(), in.readInt(), in.readUTF(), in.readInt());
      if (!theirs.equals(shapes.get(i))) {
        throw new IOException("tensor " + i + " in it is " + theirs + ", here " + shapes.get(i));
      }
    }
    List<ShardLayout.Run> runs = new ArrayList<>();
    int count = in.readInt();
    for (int i = 0; i < count; i++) {
      runs.add(new ShardLayout.Run(in.readInt(), in.readInt(), 0, in.readInt()));
    }
    return runs;
  }

  private static long read(
      DataInputStream in,
      byte[] block,
      ShardLayout.Run run,
      List<ShardLayout.Run> own,
      float[] values,
      CRC32C sum)
      throws IOException {
    long found = 0;
    float[] floats = new float[BLOCK / Float.BYTES];
    for (int done = 0; done < run.count(); ) {
      int count = Math.min(floats.length, run.count() - done);
      in.readFully(block, 0, count * Float.BYTES);
      sum.update(block, 0, count * Float.BYTES);
      ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(floats, 0, count);
      int first = run.offset() + done;
      for (ShardLayout.Run mine : own) {
        if (mine.tensor() == run.tensor()) {
          int from = Math.max(first, mine.offset());
          int to = Math.min(first + count, mine.offset() + mine.count());
          if (from < to) {
            System.arraycopy(
                floats, from - first, values, mine.local() + from - mine.offset(), to - from);
            found += to - from;
          }
        }
      }
      done += count;
    }
    return found;
  }
}
