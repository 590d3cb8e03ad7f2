package io.collectives.bench;

import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import io.collectives.bench.status.Culprit;
import io.collectives.bench.status.Findings;
import io.collectives.bench.status.Observation;
import io.collectives.bench.status.RankAnswer;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Prints the status of a job: what it means, the ranks, links and groups, and stack traces. */
final class StatusPage {
  /** With more ranks links are shown only if they are asked for. */
  private static final int FEW_RANKS = 4;

  private static final int MOST_THREADS = 4;
  private static final int MOST_FRAMES = 20;

  private static final Pattern LIBRARY =
      Pattern.compile("io\\.collectives\\.(?:engine\\.|netty\\.|ps\\.|training\\.|[A-Z])");

  private static final Pattern JDK = Pattern.compile("(?:java|javax|jdk|sun)\\.");

  private final Observation job;
  private final List<String> findings;
  private final List<Culprit> culprits;

  StatusPage(Observation job) {
    this.job = job;
    this.findings = Findings.of(job);
    this.culprits = job.culprits();
  }

  void print(Format format, boolean allLinks, PrintWriter out) {
    switch (format) {
      case TABLE -> {
        table(allLinks, out);
      }
      case TSV -> ranks().print(format, out, List.of());
      case JSON -> json(out);
    }
    out.flush();
  }

  private void table(boolean allLinks, PrintWriter out) {
    RankAnswer any = job.any();
    if (any != null) {
      out.println(title(any));
      out.println();
    }
    for (String finding : findings) {
      wrap(finding, out);
    }
    out.println();
    for (Culprit culprit : Findings.told(job)) {
      RankAnswer answer = job.stacks().get(culprit.rank());
      if (answer != null) {
        stacks(answer, out);
      }
    }
    ranks().print(Format.TABLE, out, List.of());
    Set<String> groups = new LinkedHashSet<>();
    for (RankAnswer answer : job.last().answers().values()) {
      answer.groups().forEach(group -> groups.add(group.id()));
    }
    if (groups.size() > 1) {
      groups().print(Format.TABLE, out, List.of());
    }
    int size = any == null ? 0 : any.place().size();
    if (size > 1 && (allLinks || size <= FEW_RANKS)) {
      FigureTable links = links();
      if (!links.isEmpty()) {
        links.print(Format.TABLE, out, List.of());
      }
    }
  }

  private String title(RankAnswer any) {
    Set<String> hosts = new TreeSet<>();
    long joined = 0;
    for (RankAnswer answer : job.last().answers().values()) {
      hosts.add(answer.process().host());
      joined = Math.max(joined, answer.process().joinedMicros());
    }
    String transports = Findings.transports(job);
    int size = any.place().size();
    return "Job "
        + any.place().job()
        + " ("
        + any.place().rendezvous()
        + "): "
        + size
        + (size == 1 ? " rank on " : " ranks on ")
        + (hosts.size() == 1 ? "host " : hosts.size() + " hosts: ")
        + String.join(", ", hosts)
        + (transports.isEmpty() ? "" : ", over " + transports)
        + "; joined "
        + Units.time(joined * 1e3)
        + " ago"
        + (job.looks().size() > 1
            ? "; " + job.looks().size() + " looks in " + Units.time(job.nanos())
            : "")
        + ".";
  }

  private static void wrap(String text, PrintWriter out) {
    StringBuilder line = new StringBuilder();
    for (String word : text.split(" ")) {
      if (line.length() > 0 && line.length() + 1 + word.length() > 100) {
        out.println(line);
        line.setLength(0);
        line.append("  ");
      } else if (line.length() > 0) {
        line.append(' ');
      }
      line.append(word);
    }
    out.println(line);
  }

  private FigureTable ranks() {
    FigureTable table =
        new FigureTable(
            5,
            "rank",
            "pid",
            "host",
            "in",
            "waits for",
            "for",
            "late",
            "sent",
            "received",
            "heap",
            "gc",
            "cpu");
    Set<Integer> all = new TreeSet<>(job.last().answers().keySet());
    all.addAll(job.last().silent().keySet());
    for (int rank : all) {
      RankAnswer answer = job.last().answers().get(rank);
      if (answer == null) {
        table.row(
            List.of(
                "" + rank,
                Fields.NONE,
                Fields.NONE,
                "no answer",
                Fields.NONE,
                Fields.NONE,
                late(rank),
                Fields.NONE,
                Fields.NONE,
                Fields.NONE,
                Fields.NONE,
                Fields.NONE),
            fields(rank, null));
        continue;
      }
      RankAnswer.InCall call = answer.oldest();
      RankAnswer.EndedCall last = answer.lastEnded();
      long micros = call != null ? call.call().micros() : last != null ? last.sinceMicros() : -1;
      table.row(
          List.of(
              "" + rank,
              "" + answer.process().pid(),
              answer.process().host(),
              call != null
                  ? Findings.call(call)
                  : answer.busyMillis() > 0 ? "engine is busy" : "no call",
              call == null ? Fields.NONE : "rank " + call.call().awaited(),
              micros < 0 ? Fields.NONE : Units.time(micros * 1e3),
              late(rank),
              rate(job.sentPerSecond(rank)),
              rate(job.receivedPerSecond(rank)),
              (answer.memory().heapUsed() >> 20) + " MiB",
              percent(job.collecting(rank)),
              percent(job.processors(rank))),
          fields(rank, answer));
    }
    return table;
  }

  private String late(int rank) {
    for (Culprit culprit : culprits) {
      if (culprit.rank() == rank) {
        return culprit.looks() + "/" + job.looks().size();
      }
    }
    return Fields.NONE;
  }

  private static String rate(double bytesPerSecond) {
    return Double.isNaN(bytesPerSecond) || bytesPerSecond == 0
        ? Fields.NONE
        : Units.rate(bytesPerSecond / 1e9);
  }

  private static String percent(double part) {
    return Double.isNaN(part) ? Fields.NONE : Math.round(100 * part) + " %";
  }

  private Map<String, Object> fields(int rank, @Nullable RankAnswer answer) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("rank", rank);
    fields.put("answers", answer == null ? "no" : "yes");
    fields.put("pid", answer == null ? Fields.NONE : answer.process().pid());
    fields.put("host", answer == null ? Fields.NONE : answer.process().host());
    RankAnswer.InCall call = answer == null ? null : answer.oldest();
    fields.put("collective", call == null ? Fields.NONE : call.call().operation().collective());
    fields.put("algorithm", call == null ? Fields.NONE : call.call().operation().algorithm());
    fields.put("group", call == null ? Fields.NONE : call.group().id());
    fields.put("sequence", call == null ? Fields.NONE : call.call().sequence());
    fields.put("bytes", call == null ? Fields.NONE : call.call().operation().bytes());
    fields.put("waits_for", call == null ? Fields.NONE : call.call().awaited());
    fields.put("waits_us", call == null ? Fields.NONE : call.call().micros());
    RankAnswer.EndedCall last = answer == null ? null : answer.lastEnded();
    fields.put("last_call_ended_us", last == null ? Fields.NONE : last.sinceMicros());
    int looks =
        culprits.stream().filter(late -> late.rank() == rank).mapToInt(Culprit::looks).sum();
    fields.put("late_looks", looks);
    fields.put("looks", job.looks().size());
    fields.put("sent_bytes_per_s", Fields.decimal(job.sentPerSecond(rank), 0));
    fields.put("received_bytes_per_s", Fields.decimal(job.receivedPerSecond(rank), 0));
    fields.put("calls_per_s", Fields.decimal(job.callsPerSecond(rank), 1));
    fields.put("heap_used", answer == null ? Fields.NONE : answer.memory().heapUsed());
    fields.put("heap_limit", answer == null ? Fields.NONE : answer.memory().heapLimit());
    fields.put("direct", answer == null ? Fields.NONE : answer.memory().direct());
    fields.put("mapped", answer == null ? Fields.NONE : answer.memory().mapped());
    fields.put("library_limit", answer == null ? Fields.NONE : answer.memory().libraryLimit());
    fields.put("gc_share", Fields.decimal(job.collecting(rank), 3));
    fields.put("processors", Fields.decimal(job.processors(rank), 3));
    return fields;
  }

  private FigureTable groups() {
    FigureTable table = new FigureTable(4, "rank", "group", "members", "state", "calls begun");
    for (RankAnswer answer : job.last().answers().values()) {
      for (RankAnswer.Group group : answer.groups()) {
        List<Integer> members = group.members();
        String who = members == null ? "all" : members.toString();
        String state = group.broken() ? "broken" : "whole";
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("rank", answer.rank());
        fields.put("group", group.id());
        fields.put("members", who);
        fields.put("state", state);
        fields.put("calls_begun", group.begun());
        fields.put("detail", group.detail());
        table.row(
            List.of("" + answer.rank(), group.id(), who, state, Units.grouped(group.begun())),
            fields);
      }
    }
    return table;
  }

  private FigureTable links() {
    FigureTable table = new FigureTable(3, "from", "to", "by", "frames", "sent", "now");
    for (RankAnswer answer : job.last().answers().values()) {
      for (RankAnswer.Link link : answer.links()) {
        double rate = job.sentPerSecond(answer.rank(), link.peer());
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("from", answer.rank());
        fields.put("to", link.peer());
        fields.put("transport", link.transport());
        fields.put("frames_sent", link.framesSent());
        fields.put("bytes_sent", link.bytesSent());
        fields.put("frames_received", link.framesReceived());
        fields.put("bytes_received", link.bytesReceived());
        fields.put("sent_bytes_per_s", Fields.decimal(rate, 0));
        table.row(
            List.of(
                "rank " + answer.rank(),
                "rank " + link.peer(),
                link.transport().isEmpty() ? Fields.NONE : link.transport(),
                Units.grouped(link.framesSent()),
                amount(link.bytesSent()),
                rate(rate)),
            fields);
      }
    }
    return table;
  }

  private static String amount(long bytes) {
    return bytes < 10_000
        ? Units.grouped(bytes) + " B"
        : bytes < 10_000_000
            ? Units.grouped(bytes >> 10) + " KiB"
            : Units.grouped(bytes >> 20) + " MiB";
  }

  private static void stacks(RankAnswer answer, PrintWriter out) {
    List<RankAnswer.Stack> stacks = answer.threads().stacks();
    out.println(
        "What rank "
            + answer.rank()
            + " (pid "
            + answer.process().pid()
            + ") did when others waited"
            + " for it:");
    for (RankAnswer.Stack stack : stacks.subList(0, Math.min(MOST_THREADS, stacks.size()))) {
      out.println("  thread \"" + stack.name() + "\", " + stack.state());
      List<String> frames = withoutTheLibrary(stack.frames());
      frames.stream().limit(MOST_FRAMES).forEach(frame -> out.println("    at " + frame));
      int more = Math.max(0, frames.size() - MOST_FRAMES) + stack.cut();
      if (more > 0) {
        out.println("    and " + more + " more");
      }
    }
    if (stacks.size() > MOST_THREADS) {
      out.println("  and " + (stacks.size() - MOST_THREADS) + " more threads: --format json");
    }
    out.println();
  }

  /** Replaces the methods of the library, and those that it calls, at the top by their number. */
  private static List<String> withoutTheLibrary(List<String> frames) {
    int below = 0;
    for (int i = 0; i < frames.size(); i++) {
      boolean isLibrary = LIBRARY.matcher(frames.get(i)).lookingAt();
      if (!isLibrary && !JDK.matcher(frames.get(i)).lookingAt()) {
        break;
      }
      below = isLibrary ? i + 1 : below;
    }
    if (below == 0) {
      return frames;
    }
    List<String> shown = new ArrayList<>();
    shown.add("a call of the library (" + below + " of its methods)");
    shown.addAll(frames.subList(below, frames.size()));
    return shown;
  }

  private void json(PrintWriter out) {
    RankAnswer any = job.any();
    Map<String, Object> about = new LinkedHashMap<>();
    about.put("name", any == null ? Fields.NONE : any.place().job());
    about.put("run", job.run());
    about.put("ranks", any == null ? Fields.NONE : any.place().size());
    about.put("place", any == null ? Fields.NONE : any.place().rendezvous());
    about.put("looks", job.looks().size());
    about.put("seconds", Fields.decimal(job.nanos() / 1e9, 3));
    out.println("{\"job\": " + Fields.json(about) + ",");
    out.println(" \"findings\": " + Fields.jsonTexts(findings) + ",");
    List<Map<String, Object>> chains = new ArrayList<>();
    for (Culprit culprit : culprits) {
      Map<String, Object> chain = new LinkedHashMap<>();
      chain.put("rank", culprit.rank());
      chain.put("end", culprit.longest().end().name().toLowerCase(Locale.ROOT));
      chain.put("looks", culprit.looks());
      chain.put("waits_us", culprit.longest().micros());
      chain.put("waiting", culprit.waiting().toString());
      chain.put("chain", culprit.longest().ranks().toString());
      chains.add(chain);
    }
    out.println(" \"late\": " + array(chains) + ",");
    out.println(" \"ranks\": " + array(ranks()) + ",");
    out.println(" \"groups\": " + array(groups()) + ",");
    out.println(" \"links\": " + array(links()) + ",");
    List<Map<String, Object>> stacks = new ArrayList<>();
    for (RankAnswer answer : job.stacks().values()) {
      for (RankAnswer.Stack stack : answer.threads().stacks()) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("rank", answer.rank());
        fields.put("thread", stack.name());
        fields.put("state", stack.state());
        fields.put("stack", String.join("\n", stack.frames()));
        stacks.add(fields);
      }
    }
    out.println(" \"stacks\": " + array(stacks) + "}");
  }

  private static String array(FigureTable table) {
    StringWriter text = new StringWriter();
    table.print(Format.JSON, new PrintWriter(text), List.of());
    return text.toString().strip();
  }

  private static String array(List<Map<String, Object>> objects) {
    StringBuilder text = new StringBuilder("[");
    for (int i = 0; i < objects.size(); i++) {
      text.append(i == 0 ? "\n  " : ",\n  ").append(Fields.json(objects.get(i)));
    }
    return text.append(objects.isEmpty() ? "]" : "\n]").toString();
  }
}
