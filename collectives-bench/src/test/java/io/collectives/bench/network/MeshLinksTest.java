package io.collectives.bench.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Mesh;
import org.junit.jupiter.api.Test;

class MeshLinksTest {

  /** The hosts of a network know the first link of a way only. */
  @Test
  void firstLinksLeadEverywhereByTheShortestWay() {
    for (int x = 1; x <= 6; x++) {
      for (int y = 1; y <= 6; y++) {
        for (int wraps = 0; wraps < 4; wraps++) {
          Mesh mesh = new Mesh(x, y, (wraps & 1) > 0, (wraps & 2) > 0);
          MeshLinks links = new MeshLinks(mesh);
          int[] way = new int[links.longestPath()];
          int[] rest = new int[links.longestPath()];
          for (int from = 0; from < mesh.ranks(); from++) {
            for (int to = 0; to < mesh.ranks(); to++) {
              int hops = links.path(from, to, way);
              assertEquals(
                  distance(from % x, to % x, x, mesh.wrapX())
                      + distance(from / x, to / x, y, mesh.wrapY()),
                  hops,
                  mesh + ": " + from + " to " + to);
              int at = from;
              for (int hop = 0; hop < hops; hop++) {
                links.path(at, to, rest);
                assertEquals(way[hop], rest[0], mesh + ": " + from + " to " + to + " at " + at);
                assertEquals(at, way[hop] % mesh.ranks());
                assertTrue(links.has(way[hop]), mesh + " has no link " + way[hop]);
                at = links.end(way[hop]);
              }
              assertEquals(to, at);
            }
          }
        }
      }
    }
  }

  private static int distance(int from, int to, int places, boolean wraps) {
    int plain = Math.abs(from - to);
    return wraps ? Math.min(plain, places - plain) : plain;
  }

  /** Both directions of a link are the two ends of one cable, and no two ranks have two of them. */
  @Test
  void eachLinkHasOneBack() {
    for (String text : new String[] {"4x4", "2x2", "3x1", "1x2", "2x3 wrap=y", "5x3 wrap=none"}) {
      Mesh mesh = Mesh.parse(text);
      MeshLinks links = new MeshLinks(mesh);
      int count = 0;
      boolean[] linked = new boolean[mesh.ranks() * mesh.ranks()];
      for (int link = 0; link < MeshLinks.DIRECTIONS * mesh.ranks(); link++) {
        if (links.has(link)) {
          int from = link % mesh.ranks();
          int to = links.end(link);
          int back = (link / mesh.ranks() ^ 1) * mesh.ranks() + to;
          assertTrue(links.has(back), mesh + ": no link back from " + to + " to " + from);
          assertEquals(from, links.end(back));
          assertTrue(!linked[from * mesh.ranks() + to], mesh + ": two links from " + from);
          linked[from * mesh.ranks() + to] = true;
          count++;
        }
      }
      int expected =
          mesh.y() * 2 * lines(mesh.x(), mesh.wrapX())
              + mesh.x() * 2 * lines(mesh.y(), mesh.wrapY());
      assertEquals(expected, count, text);
    }
  }

  private static int lines(int places, boolean wraps) {
    return wraps && places > 2 ? places : places - 1;
  }
}
