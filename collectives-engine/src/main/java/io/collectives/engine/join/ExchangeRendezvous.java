package io.collectives.engine.join;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.TextExchange;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A rendezvous by an all-gather of texts, which the host of the job offers. Each rank gives its
 * announcement, and rank 0 also the epoch that it has drawn, so that one exchange is enough.
 *
 * <p>All ranks see the same texts and check them in the same order, so all of them fail with the
 * same words, or none does.
 */
public final class ExchangeRendezvous implements Rendezvous {

  /** The place that settings name in place of an address. */
  public static final URI PLACE = JobSettings.of(0, 1).rendezvous();

  private static final String EPOCH = "epoch";

  private final TextExchange exchange;

  /** A rendezvous that calls {@code exchange} once, on the thread that meets. */
  public ExchangeRendezvous(TextExchange exchange) {
    this.exchange = exchange;
  }

  /**
   * Meets as {@link Rendezvous} says.
   *
   * @param timeout not used: the host that exchanges the texts knows when a rank will not come
   */
  @Override
  public Roster meet(Announcement me, Duration timeout) {
    JobEpoch epoch = JobEpoch.draw();
    Note note = Announcements.note(me, epoch.toString());
    if (me.rank() == 0) {
      note.with(EPOCH, epoch);
    }
    String own = text(note, me);
    List<String> texts = exchanged(own, me);
    if (texts.size() != me.size()) {
      throw new JoinException(
          who(me)
              + " expects "
              + me.size()
              + " ranks, but the exchange has returned "
              + texts.size()
              + " texts: it must return one of each rank");
    }
    List<Announcement> all = new ArrayList<>();
    for (int rank = 0; rank < texts.size(); rank++) {
      all.add(announcement(texts.get(rank), rank, me));
    }
    for (Announcement other : all) {
      String difference = Announcements.difference(all.get(0), other);
      if (difference != null) {
        throw new JoinException(difference);
      }
    }
    for (int rank = 0; rank < all.size(); rank++) {
      checkRank(all, rank);
    }
    if (!texts.get(me.rank()).equals(own)) {
      throw new JoinException(
          "two processes of job "
              + me.job()
              + " claim rank "
              + me.rank()
              + ": "
              + me.whereabouts()
              + " and "
              + all.get(me.rank()).whereabouts()
              + ", or the exchange has changed a text; give each process a rank of its own");
    }
    return new Roster(epochOf(texts.get(0)), all.stream().map(Announcement::address).toList());
  }

  /** Does nothing, as nothing is held: the exchange is the host's, which also ends it. */
  @Override
  public void close() {}

  private List<String> exchanged(String own, Announcement me) {
    try {
      List<String> texts = exchange.allGather(own);
      if (texts == null) {
        throw new JoinException(who(me) + " was given no list of texts by the exchange");
      }
      return texts;
    } catch (JoinException e) {
      throw e;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new JoinException(who(me) + " was interrupted while the ranks exchanged texts", e);
    } catch (Exception e) {
      throw new JoinException(
          who(me) + " cannot exchange texts with the other ranks: " + e.getMessage(), e);
    }
  }

  private static String text(Note note, Announcement me) {
    try {
      return new String(note.bytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new JoinException(who(me) + " has too much to tell: " + e.getMessage(), e);
    }
  }

  private static Announcement announcement(@Nullable String text, int rank, Announcement me) {
    Note note = parse(text);
    if (note.problem() != null) {
      throw new JoinException(
          "the exchange has returned to "
              + who(me)
              + " for rank "
              + rank
              + " what no rank has given: the text "
              + note.problem()
              + "; it must return the texts unchanged");
    }
    return Announcements.of(note);
  }

  private static Note parse(@Nullable String text) {
    return Note.parse((text == null ? "" : text).getBytes(StandardCharsets.UTF_8));
  }

  private static void checkRank(List<Announcement> all, int rank) {
    Announcement found = all.get(rank);
    if (found.rank() == rank) {
      return;
    }
    for (int other = 0; other < all.size(); other++) {
      if (other != rank && all.get(other).rank() == found.rank()) {
        throw new JoinException(Announcements.cameTwice(all.get(other), found));
      }
    }
    throw new JoinException(
        "the exchange has returned the text of "
            + Announcements.name(found)
            + " in the place of rank "
            + rank
            + ": the texts must be in the order of ranks");
  }

  private static JobEpoch epochOf(String text) {
    try {
      return JobEpoch.parse(parse(text).text(EPOCH));
    } catch (IllegalArgumentException e) {
      throw new JoinException("the text of rank 0 names no epoch: " + e.getMessage(), e);
    }
  }

  private static String who(Announcement me) {
    return "rank " + me.rank() + " of job " + me.job();
  }
}
