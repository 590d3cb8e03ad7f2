package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.HaloExchange;
import io.collectives.MismatchException;
import io.collectives.Payload;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Halos are what the whole field has there, wherever it wraps. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class HaloExchangeTest {
  private static final long UNTOUCHED = -7;

  /** The body of a rank. */
  private interface Body {
    void run(Communicator world) throws Exception;
  }

  private static void run(int ranks, Body body) throws Exception {
    CallSettings settings =
        CallSettings.defaults().withFrameLength(128).withTimeout(Duration.ofSeconds(30));
    List<Communicator> worlds = Collectives.inProcess(ranks, settings);
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<Future<Void>> ends = new ArrayList<>();
      for (Communicator world : worlds) {
        Callable<Void> task =
            () -> {
              body.run(world);
              return null;
            };
        ends.add(threads.submit(task));
      }
      for (Future<Void> end : ends) {
        end.get(50, TimeUnit.SECONDS);
      }
    } finally {
      worlds.forEach(Communicator::close);
      threads.shutdownNow();
    }
  }

  /**
   * A field that is cut into tiles.
   *
   * @param inner the elements of each tile in each dimension, without halos
   */
  record Field(int[] places, boolean[] wrap, int[] inner, int[] width) {

    int ranks() {
      return Arrays.stream(places).reduce(1, (a, b) -> a * b);
    }

    int[] shape() {
      int[] shape = new int[inner.length];
      Arrays.setAll(shape, i -> inner[i] + 2 * width[i]);
      return shape;
    }

    int tileCount() {
      return Arrays.stream(shape()).reduce(1, (a, b) -> a * b);
    }

    /** Returns what must lie at an element of a tile, in some round. */
    long expected(int rank, int element, int round) {
      int[] shape = shape();
      long value = 0;
      int restOfRank = rank;
      int restOfElement = element;
      long stride = 1;
      for (int i = places.length - 1; i >= 0; i--) {
        int place = restOfRank % places[i];
        restOfRank /= places[i];
        int at = restOfElement % shape[i];
        restOfElement /= shape[i];
        int whole = places[i] * inner[i];
        int position = place * inner[i] + at - width[i];
        if (position < 0 || position >= whole) {
          if (!wrap[i]) {
            return UNTOUCHED;
          }
          position = Math.floorMod(position, whole);
        }
        value += position * stride;
        stride *= whole;
      }
      return value + 1_000_000L * round;
    }

    boolean isHalo(int element) {
      int[] shape = shape();
      int rest = element;
      for (int i = shape.length - 1; i >= 0; i--) {
        int at = rest % shape[i];
        rest /= shape[i];
        if (at < width[i] || at >= shape[i] - width[i]) {
          return true;
        }
      }
      return false;
    }

    @Override
    public String toString() {
      return Arrays.toString(places)
          + Arrays.toString(wrap)
          + Arrays.toString(inner)
          + Arrays.toString(width);
    }
  }

  static Stream<Field> fields() {
    return Stream.of(
        new Field(new int[] {1}, new boolean[] {false}, new int[] {5}, new int[] {1}),
        new Field(new int[] {1}, new boolean[] {true}, new int[] {5}, new int[] {2}),
        new Field(new int[] {2}, new boolean[] {true}, new int[] {4}, new int[] {1}),
        new Field(new int[] {4}, new boolean[] {false}, new int[] {3}, new int[] {3}),
        new Field(
            new int[] {2, 3}, new boolean[] {false, false}, new int[] {4, 3}, new int[] {1, 1}),
        new Field(
            new int[] {2, 3}, new boolean[] {true, true}, new int[] {3, 40}, new int[] {2, 1}),
        new Field(
            new int[] {3, 1}, new boolean[] {false, true}, new int[] {2, 6}, new int[] {1, 2}),
        new Field(
            new int[] {1, 4}, new boolean[] {true, false}, new int[] {2, 3}, new int[] {0, 1}),
        new Field(
            new int[] {2, 2, 2},
            new boolean[] {true, false, true},
            new int[] {3, 2, 5},
            new int[] {1, 1, 2}),
        new Field(
            new int[] {1, 2, 3},
            new boolean[] {true, true, false},
            new int[] {2, 4, 3},
            new int[] {1, 2, 1}));
  }

  @ParameterizedTest
  @MethodSource("fields")
  void halosAreFilled(Field field) throws Exception {
    run(
        field.ranks(),
        world -> {
          LongBuffer tile = tile(world.rank(), field.tileCount());
          HaloExchange halo =
              HaloExchange.on(world, field.places, field.wrap)
                  .tile(payload(world.rank(), tile), field.shape(), field.width);
          for (int element = 0; element < tile.capacity(); element++) {
            tile.put(element, UNTOUCHED);
          }
          for (int round = 0; round < 3; round++) {
            for (int element = 0; element < tile.capacity(); element++) {
              if (!field.isHalo(element)) {
                tile.put(element, field.expected(world.rank(), element, round));
              }
            }
            if (round == 1) {
              CollectiveHandle handle = halo.exchangeAsync();
              world.barrier();
              handle.await();
            } else {
              halo.exchange();
            }
            for (int element = 0; element < tile.capacity(); element++) {
              assertEquals(
                  field.expected(world.rank(), element, round),
                  tile.get(element),
                  field + ", rank " + world.rank() + ", element " + element + ", round " + round);
            }
          }
        });
  }

  /** Ranks have different kinds of memory. */
  private static LongBuffer tile(int rank, int count) {
    return rank % 4 == 0
        ? LongBuffer.wrap(new long[count])
        : ByteBuffer.allocateDirect(8 * count).order(ByteOrder.nativeOrder()).asLongBuffer();
  }

  private static Payload payload(int rank, LongBuffer tile) {
    if (rank % 4 != 1 || tile.capacity() < 3) {
      return Payload.of(tile);
    }
    return Payload.of(
        List.of(Payload.of(tile.duplicate().limit(2)), Payload.of(tile.duplicate().position(2))));
  }

  @Test
  void everyTypeHasHalos() throws Exception {
    run(
        2,
        world -> {
          HaloExchange.Grid line = HaloExchange.on(world, new int[] {2}, true);
          int[] shape = {4};
          int own = world.rank() + 1;
          int other = 2 - world.rank();
          float[] floats = {0, own, own + 10, 0};
          line.tile(floats, shape, 1).exchange();
          assertArrayEquals(new float[] {other + 10, own, own + 10, other}, floats);
          double[] doubles = {0, own, own + 10, 0};
          line.tile(doubles, shape, 1).exchange();
          assertArrayEquals(new double[] {other + 10, own, own + 10, other}, doubles);
          int[] ints = {0, own, own + 10, 0};
          line.tile(ints, shape, 1).exchange();
          assertArrayEquals(new int[] {other + 10, own, own + 10, other}, ints);
          long[] longs = {0, own, own + 10, 0};
          line.tile(longs, shape, 1).exchange();
          assertArrayEquals(new long[] {other + 10, own, own + 10, other}, longs);
          ByteBuffer bytes = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());
          bytes.putInt(4, own).putInt(8, own + 10);
          line.tile(Payload.of(bytes, ElementType.INT32), shape, 1).exchange();
          assertEquals(other + 10, bytes.getInt(0));
          assertEquals(other, bytes.getInt(12));
        });
  }

  /** Of a matrix of 6 rows and 9 columns, rows 1 to 4 of columns 2 to 6. */
  @Test
  void aTileMayLieWithinAMatrix() throws Exception {
    run(
        2,
        world -> {
          int rank = world.rank();
          int[] matrix = new int[6 * 9];
          Arrays.setAll(matrix, i -> 100 * rank + i);
          int[] expected = matrix.clone();
          for (int row = 1; row <= 4; row++) {
            int halo = 9 * row + (rank == 0 ? 6 : 2);
            expected[halo] = 100 * (1 - rank) + 9 * row + (rank == 0 ? 3 : 5);
          }
          Payload tile = Payload.submatrix(Payload.of(matrix), 9, 1, 2, 4, 5);
          HaloExchange.on(world, new int[] {1, 2}).tile(tile, new int[] {4, 5}, 0, 1).exchange();
          assertArrayEquals(expected, matrix);
          Payload several = Payload.of(List.of(tile, Payload.of(new float[1])));
          assertThrows(
              IllegalArgumentException.class,
              () -> HaloExchange.on(world, new int[] {2}).tile(several, new int[] {21}, 1));
        });
  }

  @Test
  void anExchangeEndsWithItsLastMessageWhateverItsUserDoes() throws Exception {
    CountDownLatch tried = new CountDownLatch(1);
    run(
        3,
        world -> {
          long[] tile = {UNTOUCHED, world.rank(), UNTOUCHED};
          HaloExchange halos =
              HaloExchange.on(world, new int[] {3}, true).tile(tile, new int[] {3}, 1);
          if (world.rank() == 2) {
            assertTrue(tried.await(20, TimeUnit.SECONDS));
          }
          CollectiveHandle handle = halos.exchangeAsync();
          if (world.rank() == 0) {
            CompletableFuture<Void> future = handle.toCompletableFuture();
            future.cancel(true);
            handle.toCompletableFuture().complete(null);
            handle.toCompletableFuture().orTimeout(1, TimeUnit.NANOSECONDS);
            assertFalse(handle.isDone());
            assertFalse(handle.await(Duration.ZERO));
            tried.countDown();
          }
          handle.await();
          long left = (world.rank() + 2) % 3;
          assertArrayEquals(new long[] {left, world.rank(), (left + 2) % 3}, tile);
        });
  }

  @Test
  void aFailedExchangeIsOverWhenItSaysSo() throws Exception {
    CountDownLatch failed = new CountDownLatch(1);
    run(
        3,
        world -> {
          long[] tile = {UNTOUCHED, world.rank(), UNTOUCHED};
          int shape = world.rank() == 1 ? 6 : 3;
          long[] own = world.rank() == 1 ? new long[shape] : tile;
          HaloExchange halos =
              HaloExchange.on(world, new int[] {3}).tile(own, new int[] {shape}, shape / 3);
          if (world.rank() == 2) {
            // Rank 0 has failed for long when rank 1's other neighbour comes.
            assertTrue(failed.await(20, TimeUnit.SECONDS));
          }
          CollectiveHandle handle = halos.exchangeAsync();
          assertThrows(MismatchException.class, handle::await);
          assertTrue(handle.isDone());
          if (world.rank() == 0) {
            failed.countDown();
          }
        });
  }

  @Test
  void bordersThatDoNotFitAreNamed() throws Exception {
    run(
        2,
        world -> {
          int columns = 5 + world.rank();
          HaloExchange halo =
              HaloExchange.on(world, new int[] {2, 1})
                  .tile(new int[5 * columns], new int[] {5, columns}, 1);
          assertThrows(MismatchException.class, halo::exchange);
        });
  }

  @Test
  void wrongGridsAndTilesAreRefused() throws Exception {
    run(
        2,
        world -> {
          Class<IllegalArgumentException> wrong = IllegalArgumentException.class;
          assertThrows(wrong, () -> HaloExchange.on(world, new int[] {3}));
          assertThrows(wrong, () -> HaloExchange.on(world, new int[0]));
          assertThrows(wrong, () -> HaloExchange.on(world, new int[] {1, 1, 1, 2}));
          assertThrows(wrong, () -> HaloExchange.on(world, new int[] {1, 2}, true));
          HaloExchange.Grid grid = HaloExchange.on(world, new int[] {1, 2});
          assertThrows(wrong, () -> grid.tile(new int[9], new int[] {9}, 1));
          assertThrows(wrong, () -> grid.tile(new int[8], new int[] {3, 3}, 1));
          assertThrows(wrong, () -> grid.tile(new int[9], new int[] {3, 3}, 1, 1, 1));
          assertThrows(wrong, () -> grid.tile(new int[9], new int[] {3, 3}, 2));
          assertThrows(wrong, () -> grid.tile(new int[9], new int[] {3, 3}, -1));
        });
  }
}
