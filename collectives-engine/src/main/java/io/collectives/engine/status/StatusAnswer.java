package io.collectives.engine.status;

import io.collectives.JobSettings;
import io.collectives.engine.report.GarbageCollection;
import io.collectives.engine.sharedmemory.SharedMemoryDomain;
import io.collectives.spi.Roster;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.time.Duration;

/**
 * The answers of a rank to what it is asked. A request is one line, of which the first word says
 * what is wanted:
 *
 * <pre>
 * status   what this rank does
 * stacks   the same, and what its threads do
 * roster   the addresses at which the ranks of the job listen
 * flight   the last calls, as a flight record
 * trace N  nothing; the rank is traced for N milliseconds
 * traced   what was traced; that ends if it has not
 * </pre>
 *
 * <p>An answer is text: lines with a word for their kind first, and tabs between. Others may be
 * added, behind the known ones; a reader passes over what it does not know.
 *
 * <pre>
 * collectives-status 1
 * rank     rank size run job
 * process  pid host domain micros-since-joining processor-millis
 * place    where the ranks met
 * memory   heap-used heap-limit direct mapped library-limit
 * gc       collections millis
 * busy     millis          if the engine could not be asked for so long
 * ...      the lines of the engine
 * threads  ...             of stacks, see {@link Stacks}
 * address  rank address    of a roster
 * record                   the lines of a record follow
 * end                      so that nothing is missing
 * </pre>
 */
final class StatusAnswer {
  /** The greatest length of a request. */
  static final int LONGEST_REQUEST = 256;

  /** The time for which a thread that drives may keep the engine for itself. */
  private static final long LOCK_NANOS = 1_000_000_000;

  private static final int LONGEST_TRACE_MILLIS = 60_000;

  private final JobSettings settings;
  private final Roster roster;
  private final StatusSource source;
  private final long joinedNanos;
  private final SharedMemoryDomain domain;

  StatusAnswer(JobSettings settings, Roster roster, StatusSource source, long joinedNanos) {
    this.settings = settings;
    this.roster = roster;
    this.source = source;
    this.joinedNanos = joinedNanos;
    this.domain = SharedMemoryDomain.of(settings);
  }

  /** Answers a request, without its end of line. */
  String to(String request) {
    StringBuilder text = new StringBuilder("collectives-status\t1\n");
    String[] words = request.strip().split(" ", 2);
    String what = words[0];
    try {
      switch (what) {
        case "status" -> status(text);
        case "stacks" -> {
          status(text);
          Stacks.append(text);
        }
        case "roster" -> roster(text);
        case "flight" -> text.append("record\n").append(source.flightRecord());
        case "trace" -> trace(text, words.length < 2 ? "" : words[1]);
        case "traced" -> {
          String record = source.takeTrace();
          if (record == null) {
            error(text, "nothing was traced, or longer than a minute ago");
          } else {
            text.append("record\n").append(record);
          }
        }
        default ->
            error(
                text,
                "this version knows status, stacks, roster, flight, trace and traced, not " + what);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      error(text, "interrupted");
    } catch (RuntimeException e) {
      error(text, e.toString());
    }
    return text.append("end\n").toString();
  }

  private void trace(StringBuilder text, String millis) {
    if (!millis.matches("[1-9]\\d{0,4}") || Integer.parseInt(millis) > LONGEST_TRACE_MILLIS) {
      error(text, "a trace takes 1 to " + LONGEST_TRACE_MILLIS + " milliseconds, not " + millis);
    } else {
      source.beginTrace(Integer.parseInt(millis) * 1_000_000L);
    }
  }

  private static void error(StringBuilder text, String why) {
    text.append("error\t").append(clean(why)).append('\n');
  }

  private static String clean(String words) {
    return words.replaceAll("\\p{Cntrl}", " ");
  }

  private void status(StringBuilder text) throws InterruptedException {
    text.append("rank\t").append(settings.rank()).append('\t').append(settings.size());
    text.append('\t').append(StatusDirectory.job(roster.epoch()));
    text.append('\t').append(settings.job()).append('\n');
    ProcessHandle process = ProcessHandle.current();
    text.append("process\t").append(process.pid()).append('\t').append(domain.host());
    text.append('\t').append(domain.key());
    text.append('\t').append((System.nanoTime() - joinedNanos) / 1_000);
    text.append('\t');
    text.append(process.info().totalCpuDuration().orElse(Duration.ZERO).toMillis()).append('\n');
    text.append("place\t").append(clean(settings.rendezvous().toString())).append('\n');
    memory(text);
    String report = source.report(LOCK_NANOS);
    if (report == null) {
      text.append("busy\t").append(LOCK_NANOS / 1_000_000).append('\n');
    } else {
      text.append(report);
    }
  }

  private void memory(StringBuilder text) {
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    text.append("memory\t").append(heap.getUsed()).append('\t').append(heap.getMax());
    for (String pool : new String[] {"direct", "mapped"}) {
      long bytes = 0;
      for (BufferPoolMXBean bean : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
        bytes += bean.getName().equals(pool) ? bean.getMemoryUsed() : 0;
      }
      text.append('\t').append(bytes);
    }
    text.append('\t').append(source.memoryLimit()).append('\n');
    text.append("gc\t").append(GarbageCollection.collections());
    text.append('\t').append(GarbageCollection.millis()).append('\n');
  }

  private void roster(StringBuilder text) {
    for (int rank = 0; rank < roster.addresses().size(); rank++) {
      text.append("address\t").append(rank).append('\t');
      text.append(clean(roster.addresses().get(rank))).append('\n');
    }
  }
}
