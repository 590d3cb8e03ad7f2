package io.collectives.engine.join;

import io.collectives.spi.Rendezvous.Announcement;
import org.jspecify.annotations.Nullable;

/**
 * The announcements of ranks, as notes and in messages, and the ways in which two of them disagree.
 */
final class Announcements {
  private Announcements() {}

  /** Reads one; what a note does not say is empty, or -1. */
  static Announcement of(Note note) {
    return new Announcement(
        note.text("job"),
        note.number("rank"),
        note.number("size"),
        note.number("version"),
        note.text("transport"),
        note.text("address"),
        note.text("whereabouts"));
  }

  /**
   * Writes one.
   *
   * @param ticket by which a rank knows its own notes again
   */
  static Note note(Announcement who, String ticket) {
    return new Note()
        .with("version", who.version())
        .with("job", who.job())
        .with("rank", who.rank())
        .with("size", who.size())
        .with("transport", who.transport())
        .with("address", who.address())
        .with("whereabouts", who.whereabouts())
        .with("ticket", ticket);
  }

  /** In what two ranks differ that must be the same for all, with both values. */
  static @Nullable String difference(Announcement a, Announcement b) {
    if (a.version() != b.version()) {
      return differs(
          "version of the protocol",
          a,
          a.version(),
          b,
          b.version(),
          "use one version of collectives");
    }
    if (!a.job().equals(b.job())) {
      return differs("name of the job", a, a.job(), b, b.job(), "give all ranks one name");
    }
    if (a.size() != b.size()) {
      return differs("number of ranks", a, a.size(), b, b.size(), "start all ranks with one size");
    }
    if (!a.transport().equals(b.transport())) {
      return differs(
          "transport", a, a.transport(), b, b.transport(), "give all ranks one transport");
    }
    return null;
  }

  private static String differs(
      String what, Announcement a, Object ofA, Announcement b, Object ofB, String advice) {
    return "the ranks of job "
        + b.job()
        + " differ in the "
        + what
        + ": "
        + name(a)
        + " has "
        + ofA
        + ", "
        + name(b)
        + " has "
        + ofB
        + "; "
        + advice;
  }

  /** That two processes claim one rank. */
  static String cameTwice(Announcement first, Announcement second) {
    return "two processes of job "
        + first.job()
        + " claim rank "
        + first.rank()
        + ": "
        + first.whereabouts()
        + " and "
        + second.whereabouts()
        + "; give each a rank of its own";
  }

  /** A rank, by number and place. */
  static String name(Announcement who) {
    return "rank " + who.rank() + " (" + who.whereabouts() + ")";
  }
}
