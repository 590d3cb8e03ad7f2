package io.collectives.bench.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A record of named figures, in order, for programs: a TSV line or a JSON object. Values are
 * numbers, or text; {@link #NONE} says that there is no value.
 */
public final class Fields {
  /** The text of a figure that was not measured: {@code -} in TSV, {@code null} in JSON. */
  public static final String NONE = "-";

  private static final int DIGITS = 5;

  private Fields() {}

  /**
   * A figure with so many decimals, or, where these would be few digits, with five that count.
   *
   * @return {@link #NONE} of what is no number
   */
  public static Object decimal(double value, int decimals) {
    if (!Double.isFinite(value)) {
      return NONE;
    }
    BigDecimal exact = BigDecimal.valueOf(value);
    BigDecimal rounded = exact.setScale(decimals, RoundingMode.HALF_UP);
    return rounded.precision() >= DIGITS || rounded.compareTo(exact) == 0
        ? rounded
        : new BigDecimal(exact.round(new MathContext(DIGITS)).toPlainString());
  }

  /** The names, with tabs between. */
  public static String tsvHeader(Map<String, Object> fields) {
    return String.join("\t", fields.keySet());
  }

  /** The values, with tabs between. */
  public static String tsv(Map<String, Object> fields) {
    return fields.values().stream()
        .map(value -> value.toString().replaceAll("[\t\r\n]", " "))
        .collect(Collectors.joining("\t"));
  }

  /** An object on one line. */
  public static String json(Map<String, Object> fields) {
    StringBuilder json = new StringBuilder("{");
    for (Iterator<Map.Entry<String, Object>> i = fields.entrySet().iterator(); i.hasNext(); ) {
      Map.Entry<String, Object> field = i.next();
      quote(json, field.getKey());
      json.append(": ");
      if (field.getValue() instanceof Number number) {
        json.append(number);
      } else if (field.getValue().equals(NONE)) {
        json.append("null");
      } else {
        quote(json, field.getValue().toString());
      }
      json.append(i.hasNext() ? ", " : "");
    }
    return json.append('}').toString();
  }

  /** An array of texts on one line. */
  public static String jsonTexts(List<String> texts) {
    StringBuilder json = new StringBuilder("[");
    for (String text : texts) {
      json.append(json.length() == 1 ? "" : ", ");
      quote(json, text);
    }
    return json.append(']').toString();
  }

  private static void quote(StringBuilder to, String text) {
    to.append('"');
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        to.append('\\').append(c);
      } else if (c < ' ') {
        to.append(String.format("\\u%04x", (int) c));
      } else {
        to.append(c);
      }
    }
    to.append('"');
  }
}
