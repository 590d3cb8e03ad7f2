package io.collectives.bench.timeline;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Writes one message in the wire format of Protocol Buffers, field by field. */
final class Proto {
  private static final int VARINT = 0;
  private static final int FIXED_64 = 1;
  private static final int LENGTH_DELIMITED = 2;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  /** Appends a field of a type of whole numbers. */
  Proto number(int field, long value) {
    varint((long) field << 3 | VARINT);
    varint(value);
    return this;
  }

  /** Appends a field of the type {@code fixed64}. */
  Proto fixed(int field, long value) {
    varint((long) field << 3 | FIXED_64);
    for (int i = 0; i < Long.BYTES; i++) {
      bytes.write((int) (value >>> 8 * i));
    }
    return this;
  }

  /** Appends a field of the type {@code string}. */
  Proto text(int field, String value) {
    return bytes(field, value.getBytes(StandardCharsets.UTF_8));
  }

  /** Appends a field that is a message. */
  Proto message(int field, Proto value) {
    return bytes(field, value.bytes.toByteArray());
  }

  private Proto bytes(int field, byte[] value) {
    varint((long) field << 3 | LENGTH_DELIMITED);
    varint(value.length);
    bytes.writeBytes(value);
    return this;
  }

  private void varint(long value) {
    long left = value;
    while ((left & ~0x7fL) != 0) {
      bytes.write((int) (left & 0x7f | 0x80));
      left >>>= 7;
    }
    bytes.write((int) left);
  }

  /** Writes what was appended, and forgets it. */
  void flushTo(OutputStream out) throws IOException {
    bytes.writeTo(out);
    bytes.reset();
  }
}
