package io.collectives.bench.runreport;

import io.collectives.bench.report.Drawing;
import io.collectives.bench.runreport.RankReport.Interval;
import io.collectives.bench.runreport.ReducerRun.Point;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The report as one page of HTML that needs nothing beside itself: no script, no network. It is
 * well-formed XML, and text that comes from programs is escaped.
 */
public final class ReportPage {
  private static final String STYLE =
      """
      :root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --ground: #ffffff;
        --line: #dfe4ea; --warm: #d55e00; --note: #fff4e5; }
      @media (prefers-color-scheme: dark) {
        :root { --ink: #e6edf3; --soft: #9da7b3; --ground: #0d1117;
          --line: #2b323b; --warm: #f07b32; --note: #2b2418; } }
      body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground);
        max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
      h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
      .advice { background: var(--note); border-left: 4px solid var(--warm); padding: .5rem 1rem; }
      .advice li { margin: .4rem 0; }
      .about { color: var(--soft); font-size: .85rem; }
      .wide { overflow-x: auto; }
      table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
      th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
      th { color: var(--soft); font-weight: 600; }
      th.word, td.word { text-align: left; }
      svg { max-width: 100%; height: auto; }
      """;

  private ReportPage() {}

  /** Returns the page. */
  public static String html(RunReport report) {
    StringBuilder page = new StringBuilder();
    page.append("<!DOCTYPE html>\n<html lang=\"en\">\n")
        .append("<head>\n<meta charset=\"utf-8\"/>\n")
        .append("<meta name=\"viewport\" content=\"width=device-width\"/>\n")
        .append("<title>Report of a run</title>\n<style>\n")
        .append(STYLE)
        .append("</style>\n</head>\n<body>\n<h1>Report of a run</h1>\n");
    report.summary().forEach(line -> element(page, "p", "", line));
    element(page, "h2", "", "What to change");
    page.append("<div class=\"advice\">\n");
    if (report.advice().isEmpty()) {
      element(page, "p", "", "Nothing stands out.");
    } else {
      page.append("<ol>\n");
      report.advice().forEach(line -> element(page, "li", "", line));
      page.append("</ol>\n");
    }
    page.append("</div>\n");
    for (ReducerRun run : report.runs()) {
      charts(page, run, report.runs().size() > 1 ? " of reducer " + run.number() : "");
    }
    report.tables().forEach(table -> table(page, table));
    return page.append("</body>\n</html>\n").toString();
  }

  private static void charts(StringBuilder page, ReducerRun run, String of) {
    element(page, "h2", "", "Parts of a step" + of);
    page.append(StepBars.svg(run.rankRows()));
    chart(page, run, "Loss" + of, false, Interval::loss);
    chart(
        page,
        run,
        "Steps a second" + of,
        true,
        interval -> 1e6 * interval.steps() / Math.max(1, interval.micros()));
    chart(
        page,
        run,
        "Sums" + of + ", GB/s, waits for other ranks included",
        true,
        interval -> run.bytes() * interval.steps() / Math.max(1, 1e3 * interval.parts().sums()));
    chart(
        page,
        run,
        "Overlap" + of + ": % of the sums' time hidden behind the backward pass",
        true,
        interval -> 100.0 * interval.parts().hidden() / Math.max(1, interval.parts().sums()));
    chart(
        page,
        run,
        "Longest step" + of + " of each interval, ms",
        true,
        interval -> interval.longest() / 1e3);
    chart(
        page,
        run,
        "Garbage collections" + of + ": % of the time, mean of the ranks",
        true,
        interval -> 1e5 * interval.gcMillis() / Math.max(1, interval.micros()));
  }

  private static void chart(
      StringBuilder page,
      ReducerRun run,
      String title,
      boolean fromZero,
      ToDoubleFunction<Interval> figure) {
    List<Point> curve =
        run.curve(
            interval ->
                interval.first() == 0 && fromZero ? Double.NaN : figure.applyAsDouble(interval));
    if (curve.size() > 1) {
      element(page, "h2", "", title);
      page.append(LineChart.svg(title, curve, fromZero));
    }
  }

  private static void table(StringBuilder page, RunReport.Table table) {
    element(page, "h2", "", table.title());
    page.append("<div class=\"wide\"><table>\n<tr>");
    for (int i = 0; i < table.columns().size(); i++) {
      element(page, "th", i < table.words() ? "word" : "", table.columns().get(i));
    }
    page.append("</tr>\n");
    for (List<String> row : table.rows()) {
      page.append("<tr>");
      for (int i = 0; i < row.size(); i++) {
        element(page, "td", i < table.words() ? "word" : "", row.get(i));
      }
      page.append("</tr>\n");
    }
    page.append("</table></div>\n");
    element(page, "p", "about", table.about());
  }

  private static void element(StringBuilder page, String name, String kind, String text) {
    page.append('<').append(name);
    if (!kind.isEmpty()) {
      page.append(" class=\"").append(kind).append('"');
    }
    page.append('>').append(Drawing.escaped(text)).append("</").append(name).append(">\n");
  }
}
