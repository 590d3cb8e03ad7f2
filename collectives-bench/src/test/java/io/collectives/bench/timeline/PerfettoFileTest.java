package io.collectives.bench.timeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The file is read by a decoder of the wire format that shares nothing with the writer; the numbers
 * of fields are those of perfetto_trace.proto.
 */
class PerfettoFileTest {
  @TempDir private Path directory;

  /** A message: its fields in their order, each a number, or bytes. */
  private record Message(List<Map.Entry<Integer, Object>> fields) {

    static Message of(ByteBuffer bytes) {
      List<Map.Entry<Integer, Object>> fields = new ArrayList<>();
      ByteBuffer in = bytes.order(ByteOrder.LITTLE_ENDIAN);
      while (in.hasRemaining()) {
        long key = varint(in);
        Object value =
            switch ((int) (key & 7)) {
              case 0 -> varint(in);
              case 1 -> in.getLong();
              case 2 -> {
                int length = (int) varint(in);
                ByteBuffer part = in.slice(in.position(), length);
                in.position(in.position() + length);
                yield part;
              }
              default -> throw new AssertionError("wire type " + (key & 7));
            };
        fields.add(Map.entry((int) (key >>> 3), value));
      }
      return new Message(fields);
    }

    private static long varint(ByteBuffer in) {
      long value = 0;
      for (int shift = 0; ; shift += 7) {
        byte next = in.get();
        value |= (long) (next & 0x7f) << shift;
        if (next >= 0) {
          return value;
        }
      }
    }

    List<Object> all(int field) {
      return fields.stream()
          .filter(entry -> entry.getKey() == field)
          .map(Map.Entry::getValue)
          .toList();
    }

    boolean has(int field) {
      return !all(field).isEmpty();
    }

    long number(int field) {
      return (Long) all(field).get(0);
    }

    String text(int field) {
      return StandardCharsets.UTF_8.decode(((ByteBuffer) all(field).get(0)).duplicate()).toString();
    }

    Message message(int field) {
      return of(((ByteBuffer) all(field).get(0)).duplicate());
    }
  }

  @Test
  void slicesOfATrackFollowEachOtherAndArrowsHaveTwoEnds() throws Exception {
    String send = "send\t2000\t100\t100\t1\t0\t0\t0\t0\t0\t1\t64\t";
    String receive = "receive\t2300\t200\t50\t1\t0\t0\t0\t0\t0\t0\t64\t";
    String back = "send\t2600\t10\t10\t1\t0\t0\t0\t1\t0\t0\t64\t";
    String there = "receive\t2900\t20\t20\t1\t0\t0\t0\t1\t0\t1\t64\t";
    String call = "call\t1500\t2000\t0\t1\t0\t0\t0\t0\t0\t-1\t128\tall-reduce by ring";
    String second = "call\t1600\t2000\t0\t1\t1\t0\t0\t0\t0\t-1\t128\tall-reduce by ring";
    String mark = "mark\t1550\t0\t0\t0\t0\t0\t0\t0\t0\t-1\t0\t\"weights\" ready";
    String[] texts = {
      JobTraceTest.text(0, call, second, send, there, mark),
      JobTraceTest.text(1, call, receive, back)
    };
    for (int rank = 0; rank < texts.length; rank++) {
      Files.writeString(directory.resolve("trace-rank-" + rank + ".tsv"), texts[rank]);
    }
    Path file = directory.resolve("job.perfetto-trace");
    PerfettoFile.write(JobTrace.read(directory), file);

    Map<Long, String> tracks = new HashMap<>();
    Map<Long, Long> open = new HashMap<>();
    Map<Long, Long> last = new HashMap<>();
    Set<Long> begun = new HashSet<>();
    Set<Long> ended = new HashSet<>();
    List<String> names = new ArrayList<>();
    for (Object packet : Message.of(ByteBuffer.wrap(Files.readAllBytes(file))).all(1)) {
      Message fields = Message.of(((ByteBuffer) packet).duplicate());
      if (fields.has(60)) {
        Message track = fields.message(60);
        String name = track.has(3) ? track.message(3).text(6) : track.text(2);
        tracks.put(track.number(1), track.has(5) ? tracks.get(track.number(5)) + "/" + name : name);
        continue;
      }
      Message event = fields.message(11);
      long track = event.number(11);
      long time = fields.number(8);
      assertTrue(tracks.containsKey(track));
      assertTrue(time >= last.getOrDefault(track, 0L), "time goes back");
      last.put(track, time);
      long type = event.number(9);
      if (type == 1) {
        assertEquals(null, open.put(track, time), "slices overlap on " + tracks.get(track));
      } else if (type == 2) {
        assertTrue(open.remove(track) != null);
      }
      if (event.has(23)) {
        names.add(tracks.get(track) + ": " + event.text(23));
      }
      event.all(47).forEach(flow -> assertTrue(begun.add((Long) flow)));
      event.all(48).forEach(flow -> assertTrue(ended.add((Long) flow)));
    }
    assertEquals(Map.of(), open);
    assertEquals(2, begun.size());
    assertEquals(begun, ended);
    assertTrue(names.contains("rank 0/calls: all-reduce by ring #0, 128 bytes"), names::toString);
    assertTrue(names.contains("rank 0/calls 2: all-reduce by ring #1, 128 bytes"), names::toString);
    assertTrue(names.contains("rank 0/working: send to rank 1"), names::toString);
    assertTrue(names.contains("rank 1/working: apply frame of rank 0"), names::toString);
    assertTrue(names.contains("rank 0/gradients: \"weights\" ready"), names::toString);
  }
}
