package io.collectives.bench.accuracy;

import io.collectives.WireType;
import java.util.Locale;

/**
 * A wire type as it is written on the command line, with error feedback or without.
 *
 * @param type as what elements cross
 * @param feedback whether each rank keeps a residual
 */
public record WireChoice(WireType type, boolean feedback) {
  /** All forms, for people. */
  public static final String FORMS =
      "as-in-memory, bfloat16[+feedback], float16[+feedback], int8[+feedback]";

  private static final String FEEDBACK = "+feedback";

  /**
   * Reads one.
   *
   * @throws IllegalArgumentException if it is none
   */
  public static WireChoice parse(String text) {
    boolean feedback = text.toLowerCase(Locale.ROOT).endsWith(FEEDBACK);
    String name = feedback ? text.substring(0, text.length() - FEEDBACK.length()) : text;
    for (WireType type : WireType.values()) {
      if (type.toString().equalsIgnoreCase(name) && !(feedback && type == WireType.AS_IN_MEMORY)) {
        return new WireChoice(type, feedback);
      }
    }
    throw new IllegalArgumentException("'" + text + "' is no wire type; there are " + FORMS);
  }

  @Override
  public String toString() {
    return type + (feedback ? FEEDBACK : "");
  }
}
