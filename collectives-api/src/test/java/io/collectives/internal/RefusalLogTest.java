package io.collectives.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.helpers.MessageFormatter;

final class RefusalLogTest {
  private final List<String> warnings = new ArrayList<>();
  private final AtomicLong debugged = new AtomicLong();
  private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5); // Clocks may wrap.

  private final Logger logger =
      (Logger)
          Proxy.newProxyInstance(
              Logger.class.getClassLoader(),
              new Class<?>[] {Logger.class},
              (proxy, method, arguments) -> {
                if (method.getName().equals("warn")) {
                  Object[] facts =
                      arguments.length == 2 && arguments[1] instanceof Object[] many
                          ? many
                          : List.of(arguments).subList(1, arguments.length).toArray();
                  warnings.add(
                      MessageFormatter.arrayFormat((String) arguments[0], facts).getMessage());
                } else {
                  assertEquals("debug", method.getName());
                  debugged.incrementAndGet();
                }
                return null;
              });

  private final RefusalLog log = new RefusalLog(Log.to(logger), now::get);

  @Test
  void aFloodIsOneWarningASecondAndNothingIsLeftOutInSilence() {
    for (int second = 0; second < 6; second++) {
      for (int i = 0; i < 1000; i++) {
        log.warn("refused {} in {}", "rank " + i, second);
        now.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
      }
    }
    log.end();
    log.end();
    assertEquals(7, warnings.size(), warnings::toString);
    assertEquals("refused rank 0 in 0", warnings.get(0));
    assertEquals(
        "refused rank 0 in 1 (and 999 warnings of this kind were left out since the last one)",
        warnings.get(1));
    assertEquals(
        "999 more warnings about connections of unauthenticated peers were left out",
        warnings.get(6));
    assertEquals(5994, debugged.get());
  }

  @Test
  void whatAStrangerWroteIsNoFormat() {
    log.warn("refused {}", "{} {}");
    assertEquals(List.of("refused {} {}"), warnings);
  }

  @Test
  void textsOfUnauthenticatedPeersAreOneShortLine() {
    assertEquals("a?[2Jb??c", RefusalLog.printable("a\u001b[2Jb\r\nc", 20));
    assertEquals("??", RefusalLog.printable("\u202e\u009b", 20));
    assertTrue(RefusalLog.printable("x".repeat(5000), 40).length() <= 43);
  }
}
