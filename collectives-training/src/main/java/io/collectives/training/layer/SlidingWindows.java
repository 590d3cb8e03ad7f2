package io.collectives.training.layer;

import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.training.layer.SpatialTiles.Area;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The part of an image that a rank needs to compute its tile of a result: its own tile with a
 * <em>halo</em>, which other ranks have. All ranks know all tiles, so each knows the data that
 * every other one needs from it: there is one message for each pair whose tile and need overlap. A
 * halo may be wider than a tile; then parts of it come from ranks farther away. (A {@link
 * io.collectives.HaloExchange} needs halos that lie in a neighbour's tile.) In the backward pass
 * gradients of the halo go back the same way, and are added at their owners in the order of ranks.
 */
final class SlidingWindows {
  final SpatialTiles input;
  final SpatialTiles output;
  final int kernel;
  final int stride;
  final int padding;

  /**
   * The area that this rank's windows cover, padding included: rows and columns may lie outside the
   * image.
   */
  final Area covered;

  private final Area[] needs;

  SlidingWindows(SpatialTiles input, int kernel, int stride, int padding) {
    this.input = input;
    this.output = input.slid(kernel, stride, padding);
    this.kernel = kernel;
    this.stride = stride;
    this.padding = padding;
    this.needs = new Area[input.group().size()];
    for (int rank = 0; rank < needs.length; rank++) {
      needs[rank] = covered(rank);
    }
    this.covered = needs[input.group().rank()];
  }

  private Area covered(int rank) {
    Area tile = output.tile(rank);
    if (tile.count() == 0) {
      return new Area(0, 0, 0, 0);
    }
    return new Area(
        tile.top() * stride - padding,
        tile.left() * stride - padding,
        (tile.height() - 1) * stride + kernel,
        (tile.width() - 1) * stride + kernel);
  }

  /** Checks that an array is long enough. */
  static void check(String what, float[] values, long wanted) {
    if (wanted < 0 || wanted > values.length) {
      throw new IllegalArgumentException(
          what + " of " + values.length + " elements: there must be " + wanted);
    }
  }

  /**
   * Gathers the area that this rank's windows cover, with 0 outside of the image.
   *
   * @param planes the number of samples times channels, the same on all ranks
   */
  float[] gather(float[] tile, int planes) {
    Communicator group = input.group();
    int rank = group.rank();
    Area own = input.tile(rank);
    float[] window = new float[Math.multiplyExact(planes, covered.count())];
    List<CollectiveHandle> handles = new ArrayList<>();
    float[][] parts = new float[group.size()][];
    for (int other = 0; other < group.size(); other++) {
      Area part = input.tile(other).intersection(covered);
      if (other != rank && part.count() > 0) {
        parts[other] = new float[planes * part.count()];
        handles.add(group.async().receive(Payload.of(parts[other]), other));
      }
    }
    for (int other = 0; other < group.size(); other++) {
      Area part = own.intersection(needs[other]);
      if (part.count() > 0) {
        float[] packed = new float[planes * part.count()];
        copy(tile, own, packed, part, part, planes, false);
        if (other == rank) {
          parts[rank] = packed;
        } else {
          handles.add(group.async().send(Payload.of(packed), other));
        }
      }
    }
    handles.forEach(CollectiveHandle::await);
    for (int other = 0; other < group.size(); other++) {
      if (parts[other] != null) {
        Area part = input.tile(other).intersection(covered);
        copy(parts[other], part, window, covered, part, planes, false);
      }
    }
    return window;
  }

  /**
   * Adds the gradients of gathered elements at the ranks that own these.
   *
   * @param window the gradients of the result of {@link #gather}
   * @param tile the array for the sums of this rank's tile
   */
  void scatter(float[] window, int planes, float[] tile) {
    Communicator group = input.group();
    int rank = group.rank();
    Area own = input.tile(rank);
    List<CollectiveHandle> handles = new ArrayList<>();
    float[][] parts = new float[group.size()][];
    for (int other = 0; other < group.size(); other++) {
      Area part = own.intersection(needs[other]);
      if (other != rank && part.count() > 0) {
        parts[other] = new float[planes * part.count()];
        handles.add(group.async().receive(Payload.of(parts[other]), other));
      }
    }
    for (int other = 0; other < group.size(); other++) {
      Area part = input.tile(other).intersection(covered);
      if (part.count() > 0) {
        float[] packed = new float[planes * part.count()];
        copy(window, covered, packed, part, part, planes, false);
        if (other == rank) {
          parts[rank] = packed;
        } else {
          handles.add(group.async().send(Payload.of(packed), other));
        }
      }
    }
    handles.forEach(CollectiveHandle::await);
    Arrays.fill(tile, 0, planes * own.count(), 0);
    for (int other = 0; other < group.size(); other++) {
      if (parts[other] != null) {
        Area part = own.intersection(needs[other]);
        copy(parts[other], part, tile, own, part, planes, true);
      }
    }
  }

  /** Copies, or adds, a part that lies in both areas. */
  private static void copy(
      float[] from, Area fromArea, float[] to, Area toArea, Area part, int planes, boolean adds) {
    for (int plane = 0; plane < planes; plane++) {
      for (int row = part.top(); row < part.top() + part.height(); row++) {
        int at = at(fromArea, plane, row, part.left());
        int there = at(toArea, plane, row, part.left());
        if (adds) {
          for (int i = 0; i < part.width(); i++) {
            to[there + i] += from[at + i];
          }
        } else {
          System.arraycopy(from, at, to, there, part.width());
        }
      }
    }
  }

  private static int at(Area area, int plane, int row, int column) {
    return (plane * area.height() + row - area.top()) * area.width() + column - area.left();
  }
}
