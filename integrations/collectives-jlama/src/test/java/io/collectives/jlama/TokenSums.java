package io.collectives.jlama;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;

/**
 * The partial sums of a language model of 7 billion weights without the model: 4,096 floats, twice
 * in each of 32 layers, for each token, by all-reduce and by a star over sockets, in pairs.
 *
 * <p>In the star rank 0 receives what the others have, adds it, and sends the sums back, as Jlama's
 * coordinator does.
 */
public final class TokenSums {
  private static final int WIDTH = 4096;
  private static final int SUMS = 2 * 32;
  private static final int TOKENS = 50;
  private static final int PAIRS = 7;

  /** The pairs in which the JVM still compiles, which takes a second or two of each. */
  private static final int WARM_UP = 10;

  private TokenSums() {}

  /**
   * Prints, at rank 0, the ratio of tokens in a second for each pair.
   *
   * @throws IllegalStateException if a sum is wrong
   */
  public static void main(String[] arguments) throws IOException {
    try (Communicator world = Collectives.join();
        Star star = new Star(world)) {
      float[] values = new float[WIDTH];
      for (int pair = 0; pair < WARM_UP + PAIRS; pair++) {
        double byStar = tokensPerSecond(world, values, () -> star.sum(values));
        double byAllReduce =
            tokensPerSecond(world, values, () -> world.allReduce(values, ReduceOp.SUM));
        if (world.rank() == 0 && pair >= WARM_UP) {
          System.out.printf(
              "%.3f %.0f tokens a second by all-reduce, %.0f by a star%n",
              byAllReduce / byStar, byAllReduce, byStar);
        }
      }
    }
  }

  private static double tokensPerSecond(Communicator world, float[] values, Runnable sum) {
    Arrays.fill(values, world.rank() + 1);
    sum.run();
    int all = world.size() * (world.size() + 1) / 2;
    if (values[0] != all || values[WIDTH - 1] != all) {
      throw new IllegalStateException("sums of " + values[0] + ", not " + all);
    }
    world.barrier();
    long start = System.nanoTime();
    for (int i = 0; i < TOKENS * SUMS; i++) {
      values[0] = 1;
      sum.run();
      Arrays.fill(values, 1);
    }
    world.barrier();
    return TOKENS * 1e9 / (System.nanoTime() - start);
  }

  /** Sums at rank 0, by a connection to each other rank. */
  private static final class Star implements AutoCloseable {
    private final SocketChannel[] others;
    private final ByteBuffer bytes =
        ByteBuffer.allocateDirect(WIDTH * Float.BYTES).order(ByteOrder.nativeOrder());
    private final FloatBuffer floats = bytes.asFloatBuffer();
    private final float[] theirs = new float[WIDTH];
    private final boolean isCenter;

    Star(Communicator world) throws IOException {
      isCenter = world.rank() == 0;
      others = new SocketChannel[isCenter ? world.size() - 1 : 1];
      InetAddress host = InetAddress.getLoopbackAddress();
      try (ServerSocketChannel server = ServerSocketChannel.open()) {
        int[] port = {0};
        if (isCenter) {
          server.bind(new InetSocketAddress(host, 0));
          port[0] = ((InetSocketAddress) server.getLocalAddress()).getPort();
        }
        world.allReduce(port, ReduceOp.SUM);
        for (int i = 0; i < others.length; i++) {
          others[i] =
              isCenter ? server.accept() : SocketChannel.open(new InetSocketAddress(host, port[0]));
          others[i].setOption(StandardSocketOptions.TCP_NODELAY, true);
        }
      }
    }

    void sum(float[] values) {
      try {
        if (isCenter) {
          for (SocketChannel other : others) {
            receive(other, theirs);
            for (int i = 0; i < WIDTH; i++) {
              values[i] += theirs[i];
            }
          }
          for (SocketChannel other : others) {
            send(other, values);
          }
        } else {
          send(others[0], values);
          receive(others[0], values);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private void send(SocketChannel to, float[] values) throws IOException {
      floats.clear().put(values);
      bytes.clear();
      while (bytes.hasRemaining()) {
        to.write(bytes);
      }
    }

    private void receive(SocketChannel from, float[] values) throws IOException {
      bytes.clear();
      while (bytes.hasRemaining()) {
        if (from.read(bytes) < 0) {
          throw new IOException("a rank has left");
        }
      }
      floats.clear().get(values);
    }

    @Override
    public void close() throws IOException {
      for (SocketChannel other : others) {
        other.close();
      }
    }
  }
}
