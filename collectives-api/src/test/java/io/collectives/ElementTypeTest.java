package io.collectives;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.internal.ElementBuffer;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Bits, arrays and views of elements are those of their type. */
class ElementTypeTest {

  @ParameterizedTest
  @CsvSource({
    "FLOAT32, -2.5, ffffffffc0200000",
    "FLOAT64, -2.5, c004000000000000",
    "BFLOAT16, -2.5, ffffffffffffc020",
    "FLOAT16, -2.5, ffffffffffffc100",
    "INT32, -5, fffffffffffffffb",
    "INT64, -5, fffffffffffffffb",
    "INT8, -5, fffffffffffffffb",
    "UINT8, 5, 5",
    "UINT8, 251, fffffffffffffffb"
  })
  void bitsAreThoseOfTheNumber(ElementType type, double value, String bits) {
    assertEquals(bits, Long.toHexString(type.bits(value)));
    assertEquals(value, type.value(type.bits(value)));
  }

  @Test
  void numbersAreRoundedToTheType() {
    assertEquals(0x1p-23, ElementType.FLOAT32.value(ElementType.FLOAT32.bits(1) + 1) - 1);
    assertEquals(0x1p-52, ElementType.FLOAT64.value(ElementType.FLOAT64.bits(1) + 1) - 1);
    assertEquals(0x1p-7, ElementType.BFLOAT16.value(ElementType.BFLOAT16.bits(1) + 1) - 1);
    assertEquals(0x1p-10, ElementType.FLOAT16.value(ElementType.FLOAT16.bits(1) + 1) - 1);
    assertEquals(-2, ElementType.INT32.value(ElementType.INT32.bits(-2.9)));
    assertEquals(-2, ElementType.INT8.value(ElementType.INT8.bits(-2.9)));
  }

  /** Arrays and views are those that payloads take. */
  @ParameterizedTest
  @EnumSource
  void arraysAndViewsHoldItsElements(ElementType type) {
    Object array = type.newArray(3);
    assertEquals(3, Array.getLength(array));
    ByteBuffer bytes = ByteBuffer.allocate(4 * type.bytes()).order(ByteOrder.nativeOrder());
    assertEquals(3, type.view(bytes.position(type.bytes())).capacity());
    ElementBuffer elements = new ElementBuffer(new Payload.OfArray(type, array, 1, 2));
    elements.setValue(1, 7);
    assertEquals(7, elements.value(1));
    assertEquals(0, elements.value(0));
  }
}
