package io.collectives.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The interfaces that a transport has to implement are small. */
class SmallCoreTest {
  private static final List<Class<?>> CORE =
      List.of(
          TransportProvider.class,
          TransportProvider.Endpoint.class,
          Transport.class,
          Link.class,
          FrameSink.class,
          FrameBody.class);

  private static Stream<Method> methods() {
    return CORE.stream().flatMap(type -> Arrays.stream(type.getDeclaredMethods()));
  }

  @Test
  void theCoreHasTwentyMethodsAndFourWithDefaults() {
    assertEquals(
        20, methods().filter(method -> Modifier.isAbstract(method.getModifiers())).count());
    assertEquals(4, methods().filter(Method::isDefault).count());
    assertEquals(24, methods().count());
  }

  /** A further capability of a transport is an interface of its own, not a flag. */
  @Test
  void aTransportHasNoFlags() {
    assertFalse(
        Arrays.stream(Transport.class.getDeclaredMethods())
            .anyMatch(method -> method.getReturnType() == boolean.class));
  }
}
