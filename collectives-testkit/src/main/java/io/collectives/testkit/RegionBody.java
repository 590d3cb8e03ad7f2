package io.collectives.testkit;

import io.collectives.spi.FrameBytes;
import io.collectives.spi.LeasableBody;
import io.collectives.spi.Region;
import org.jspecify.annotations.Nullable;

/** A body that is one piece of a region, and that knows whether it was leased or copied. */
final class RegionBody implements LeasableBody {
  private final Region region;
  private final int offset;
  private final int length;

  @Nullable Lease lease;
  boolean isReleased;

  RegionBody(Region region, int offset, int length) {
    this.region = region;
    this.offset = offset;
    this.length = length;
  }

  @Override
  public int length() {
    return length;
  }

  @Override
  public void store(FrameBytes target, int at) {
    target.bytes().put(at, region.bytes(), offset, length);
  }

  @Override
  public void release() {
    isReleased = true;
  }

  @Override
  public int pieces() {
    return 1;
  }

  @Override
  public Region region(int piece) {
    return region;
  }

  @Override
  public int offset(int piece) {
    return offset;
  }

  @Override
  public int length(int piece) {
    return length;
  }

  @Override
  public @Nullable Region targetRegion(int piece) {
    return null;
  }

  @Override
  public int targetOffset(int piece) {
    return 0;
  }

  @Override
  public boolean isPlaced() {
    return false;
  }

  @Override
  public void leased(Lease begun) {
    lease = begun;
  }
}
