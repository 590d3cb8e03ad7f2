package io.collectives;

import io.collectives.internal.StageHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * An exchange of borders between neighbours on a grid of ranks, as spatial partitioning (Kumar et
 * al. 2021, section 3.1) and stencils need it.
 *
 * <p><b>Grid.</b> Ranks stand on a grid of one, two or three dimensions in row-major order: on
 * {@code {2, 3}} rank 4 stands in row 1, column 1. A dimension may wrap, so that its first and last
 * places are neighbours.
 *
 * <p><b>Tile.</b> A tile is a payload of as many dimensions, in row-major order, with a
 * <em>halo</em> of {@code width} elements at both ends of each dimension. {@link #exchange} fills
 * the halo, corners included, with the elements that the neighbours have there in their tiles
 * without the halos; where there is no neighbour the halo stays as it is. In one dimension, with
 * width 1, this is:
 *
 * <pre>
 *   rank 0  [h| a b c |h]      [.| a b c |d]
 *   rank 1  [h| d e f |h]  =&gt;  [c| d e f |.]
 * </pre>
 *
 * <p>Each rank sends one message to each of its up to 2, 8 or 26 neighbours; these messages are
 * {@linkplain Communicator#send independent} of all other calls of the group. Borders are read and
 * halos written in place, so nothing is packed first. The tile belongs to the library while an
 * exchange is under way. Ranks make the same exchanges in the same order; tiles of neighbours may
 * differ only in the dimension in which they are neighbours. Borders that do not fit are a {@link
 * MismatchException}.
 *
 * <p>One thread at a time may use it, for one exchange at a time. The first exchange of a tile
 * makes all descriptions; later ones use them again.
 */
public final class HaloExchange {
  private static final int MOST_DIMENSIONS = 3;

  private final Communicator group;

  /** A group of this rank alone, if it is its own neighbour. */
  private final @Nullable Communicator alone;

  private final List<Message> messages;

  private HaloExchange(Communicator group, List<Message> messages) {
    int rank = group.rank();
    this.group = group;
    this.messages = List.copyOf(messages);
    this.alone =
        messages.stream().anyMatch(message -> message.to == rank) ? group.group(rank) : null;
  }

  /**
   * The two messages of one direction: the border that this rank sends and the halo that it
   * receives.
   *
   * @param to the rank that gets the border, -1 if there is none
   * @param from the rank whose border fills the halo on the opposite side, -1 if there is none
   */
  private record Message(int to, Payload border, int from, Payload halo) {}

  /**
   * Makes a grid of the ranks of a group.
   *
   * @param places the number of places in each dimension; their product is the size of the group
   * @param wrap whether each dimension wraps; no dimension wraps if this is empty
   */
  public static Grid on(Communicator group, int[] places, boolean... wrap) {
    if (places.length < 1
        || places.length > MOST_DIMENSIONS
        || Arrays.stream(places).anyMatch(count -> count < 1)
        || product(places, group.size()) != group.size()) {
      throw new IllegalArgumentException(
          "a grid of "
              + Arrays.toString(places)
              + " places for "
              + group.size()
              + " ranks: there must be 1 to 3 dimensions with a place for each rank");
    }
    if (wrap.length != 0 && wrap.length != places.length) {
      throw new IllegalArgumentException(
          wrap.length
              + " times said whether to wrap, for "
              + places.length
              + " dimensions: say it for each, or never");
    }
    return new Grid(group, places.clone(), Arrays.copyOf(wrap, places.length));
  }

  /**
   * Returns the product of counts, which are at least 1, or some number above the limit if the
   * product is above it.
   */
  private static long product(int[] counts, long limit) {
    long product = 1;
    for (int i = 0; i < counts.length && product <= limit; i++) {
      product *= counts[i];
    }
    return product;
  }

  /** An arrangement of ranks; immutable. */
  public static final class Grid {
    private final Communicator group;
    private final int[] places;
    private final boolean[] wrap;

    private Grid(Communicator group, int[] places, boolean[] wrap) {
      this.group = group;
      this.places = places;
      this.wrap = wrap;
    }

    /** Describes the exchange of an array's borders; see {@link #tile(Payload, int[], int...)}. */
    public HaloExchange tile(float[] tile, int[] shape, int... widths) {
      return tile(Payload.of(tile), shape, widths);
    }

    /** Describes the exchange of an array's borders; see {@link #tile(Payload, int[], int...)}. */
    public HaloExchange tile(double[] tile, int[] shape, int... widths) {
      return tile(Payload.of(tile), shape, widths);
    }

    /** Describes the exchange of an array's borders; see {@link #tile(Payload, int[], int...)}. */
    public HaloExchange tile(int[] tile, int[] shape, int... widths) {
      return tile(Payload.of(tile), shape, widths);
    }

    /** Describes the exchange of an array's borders; see {@link #tile(Payload, int[], int...)}. */
    public HaloExchange tile(long[] tile, int[] shape, int... widths) {
      return tile(Payload.of(tile), shape, widths);
    }

    /**
     * Describes the exchange of the borders of a tile; the result may be used any number of times.
     *
     * @param tile the elements in row-major order; their values may change between exchanges
     * @param shape the number of elements in each dimension, halo included
     * @param widths the width of the halo, or one for each dimension; from 0 to a third of the
     *     shape, so that a border comes from one neighbour
     */
    public HaloExchange tile(Payload tile, int[] shape, int... widths) {
      int[] width = check(tile, shape, widths);
      int directions = 1;
      for (int i = 0; i < places.length; i++) {
        directions *= 3;
      }
      List<Message> messages = new ArrayList<>();
      // The same order everywhere: a pair of ranks that are neighbours twice takes its messages by
      // it.
      for (int direction = 0; direction < directions; direction++) {
        int[] step = new int[places.length];
        boolean exchanged = false;
        boolean widthless = false;
        for (int i = places.length - 1, rest = direction; i >= 0; i--, rest /= 3) {
          step[i] = rest % 3 - 1;
          exchanged |= step[i] != 0;
          widthless |= step[i] != 0 && width[i] == 0;
        }
        if (exchanged && !widthless) {
          messages.add(
              new Message(
                  neighbour(step, 1),
                  region(tile, shape, width, step, true),
                  neighbour(step, -1),
                  region(tile, shape, width, step, false)));
        }
      }
      return new HaloExchange(group, messages);
    }

    private int[] check(Payload tile, int[] shape, int[] widths) {
      if (tile instanceof Payload.OfTensors several) {
        throw new IllegalArgumentException(
            "a tile of " + several.types() + " elements: it must be of one type");
      }
      int[] width = widths.length == 1 ? new int[places.length] : widths.clone();
      if (widths.length == 1) {
        Arrays.fill(width, widths[0]);
      }
      if (shape.length != places.length || width.length != places.length) {
        throw new IllegalArgumentException(
            "a tile of shape "
                + Arrays.toString(shape)
                + " with halos of "
                + Arrays.toString(widths)
                + " on a grid of "
                + Arrays.toString(places)
                + ": all must have as many dimensions");
      }
      for (int i = 0; i < shape.length; i++) {
        if (width[i] < 0 || shape[i] < 1 || shape[i] / 3 < width[i]) {
          throw new IllegalArgumentException(
              "a halo of "
                  + width[i]
                  + " in a dimension of "
                  + shape[i]
                  + " elements: the width may be from 0 to a third of the elements");
        }
      }
      long count = product(shape, tile.count());
      if (count != tile.count()) {
        throw new IllegalArgumentException(
            "a tile of "
                + tile.count()
                + " elements with shape "
                + Arrays.toString(shape)
                + ", which has "
                + (count > tile.count() ? "more" : count));
      }
      return width;
    }

    /** Returns the rank some places away, -1 if there is none. */
    private int neighbour(int[] step, int sign) {
      int rank = 0;
      int stride = 1;
      int rest = group.rank();
      for (int i = places.length - 1; i >= 0; i--) {
        int place = rest % places[i] + sign * step[i];
        rest /= places[i];
        if (place < 0 || place >= places[i]) {
          if (!wrap[i]) {
            return -1;
          }
          place = Math.floorMod(place, places[i]);
        }
        rank += place * stride;
        stride *= places[i];
      }
      return rank;
    }
  }

  /**
   * Returns the border that is sent in a direction, or the halo that is filled by the message of
   * that direction, which lies on the opposite side.
   */
  private static Payload region(
      Payload tile, int[] shape, int[] width, int[] step, boolean isBorder) {
    int dimensions = shape.length;
    int[] first = new int[dimensions];
    int[] end = new int[dimensions];
    for (int i = 0; i < dimensions; i++) {
      int low = width[i];
      int high = shape[i] - width[i];
      if (step[i] == 0) {
        first[i] = low;
        end[i] = high;
      } else if (isBorder) {
        first[i] = step[i] < 0 ? low : high - width[i];
        end[i] = first[i] + width[i];
      } else {
        first[i] = step[i] < 0 ? high : 0;
        end[i] = first[i] + width[i];
      }
    }
    return rectangles(tile, shape, first, end);
  }

  /** Returns the elements between {@code first} and {@code end} in all dimensions, in place. */
  private static Payload rectangles(Payload tile, int[] shape, int[] first, int[] end) {
    int last = shape.length - 1;
    int run = end[last] - first[last];
    if (last == 0) {
      return Ranges.slice(tile, first[0], run);
    }
    int rows = end[last - 1] - first[last - 1];
    if (last == 1) {
      return Payload.submatrix(tile, shape[1], first[0], first[1], rows, run);
    }
    List<Payload> planes = new ArrayList<>();
    for (int plane = first[0]; plane < end[0]; plane++) {
      int row = plane * shape[1] + first[1];
      planes.add(Payload.submatrix(tile, shape[2], row, first[2], rows, run));
    }
    return Payload.of(planes);
  }

  /**
   * Fills the halo.
   *
   * @throws CollectiveException if a neighbour is lost, has another border, or is late
   */
  public void exchange() {
    exchangeAsync().await();
  }

  /** Starts {@link #exchange} and returns at once. */
  public CollectiveHandle exchangeAsync() {
    List<CollectiveHandle> handles = new ArrayList<>(2 * messages.size());
    RuntimeException refused = null;
    try {
      start(handles);
    } catch (RuntimeException e) {
      if (handles.isEmpty()) {
        throw e;
      }
      // What has been started may still write to the tile.
      refused = e;
    }
    return new All(handles, refused);
  }

  private void start(List<CollectiveHandle> handles) {
    for (Message message : messages) {
      if (message.from >= 0 && message.from != group.rank()) {
        handles.add(group.async().receive(message.halo, message.from));
      }
    }
    for (Message message : messages) {
      if (message.to == group.rank() && alone != null) {
        handles.add(alone.async().allGather(message.border, message.halo));
      } else if (message.to >= 0) {
        handles.add(group.async().send(message.border, message.to));
      }
    }
  }

  /** A handle of several calls, which ends with the last of them. */
  private static final class All extends StageHandle {
    private final List<CollectiveHandle> handles;

    /**
     * Makes a handle of these calls.
     *
     * @param refused the error for which no more calls were made; null if these are all
     */
    All(List<CollectiveHandle> handles, @Nullable RuntimeException refused) {
      this.handles = handles;
      CompletableFuture.allOf(
              handles.stream()
                  .map(CollectiveHandle::toCompletableFuture)
                  .toArray(CompletableFuture<?>[]::new))
          .whenComplete((nothing, error) -> end(refused == null ? causeOf(error) : refused));
    }

    private static @Nullable Throwable causeOf(@Nullable Throwable error) {
      return error instanceof CompletionException wrapped && wrapped.getCause() != null
          ? wrapped.getCause()
          : error;
    }

    @Override
    public void await() {
      handles.forEach(handle -> ended(handle::await));
      check();
    }

    @Override
    public boolean await(Duration timeout) {
      long endNanos = deadline(timeout);
      for (CollectiveHandle handle : handles) {
        ended(() -> handle.await(Duration.ofNanos(Math.max(0, endNanos - System.nanoTime()))));
        if (!handle.isDone()) {
          return false;
        }
      }
      check();
      return true;
    }

    /** Waits for one call and ignores its error, because the others are still under way. */
    private static void ended(Runnable wait) {
      try {
        wait.run();
      } catch (CollectiveException e) {
        // It is told of when all have ended.
      }
    }
  }
}
