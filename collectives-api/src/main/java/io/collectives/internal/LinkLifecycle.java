package io.collectives.internal;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The life of a link that one connection makes: first its ranks are apart, then they are linked, at
 * last the link is lost. A connection that was admitted is never replaced, and a link that was lost
 * is never made again.
 *
 * <p>Either rank may connect. If both do, the connection that the higher rank makes counts: the
 * lower one takes it instead of its own, and the higher one sends the lower one's away while its
 * own is under way. So the higher rank alone decides, and the two never have one connection each.
 *
 * <p>One thread at a time, as the lock of the transport sees to. The transport closes connections;
 * this only says which.
 *
 * @param <C> the transport's connections
 */
public final class LinkLifecycle<C> {
  private enum State {
    APART,
    LINKED,
    LOST
  }

  /** The answer to a peer that connects. */
  public enum Answer {
    /** The connection may be admitted. */
    WELCOME,
    /** This rank's own connection, which is under way, counts. */
    OWN_COUNTS,
    /** The link has had its connection. */
    USED
  }

  private final int rank;
  private final int peer;
  private State state = State.APART;
  private boolean wanted;
  private @Nullable C attempt;
  private @Nullable C connection;
  private @Nullable Throwable cause;

  public LinkLifecycle(int rank, int peer) {
    this.rank = rank;
    this.peer = peer;
  }

  /** Notes that this rank wants the link; returns whether it is the first time. */
  public boolean want() {
    boolean first = !wanted;
    wanted = true;
    return first;
  }

  /** Returns whether this rank wants the link and has not had it. */
  public boolean isWaiting() {
    return wanted && state == State.APART;
  }

  public boolean isApart() {
    return state == State.APART;
  }

  public boolean isLinked() {
    return state == State.LINKED;
  }

  public boolean isLost() {
    return state == State.LOST;
  }

  /** Notes a connection that this rank has begun to make. */
  public void begin(C begun) {
    attempt = begun;
  }

  /** Returns the connection that this rank is making; null if there is none. */
  public @Nullable C attempt() {
    return attempt;
  }

  /** Gives up the connection that this rank was making, and returns it; null if there was none. */
  public @Nullable C giveUp() {
    C given = attempt;
    attempt = null;
    return given;
  }

  /** Decides whether a connection that the peer makes may be admitted. */
  public Answer answer() {
    if (state != State.APART) {
      return Answer.USED;
    }
    return attempt != null && peer < rank ? Answer.OWN_COUNTS : Answer.WELCOME;
  }

  /**
   * Admits the connection that counts.
   *
   * @return the connection that this rank was making instead, to be closed; null if there is none
   */
  public @Nullable C admit(C admitted) {
    state = State.LINKED;
    speakBy(admitted);
    return giveUp();
  }

  /** Notes the connection by which the peer can hear, although it is not admitted, why not. */
  public void speakBy(C by) {
    connection = by;
    if (attempt == by) {
      attempt = null;
    }
  }

  /** Returns the connection by which the peer can hear, also of a lost link; null before that. */
  public @Nullable C connection() {
    return connection;
  }

  /** Does something with the connection of the link and with the one that this rank is making. */
  public void forEachConnection(Consumer<? super C> action) {
    if (attempt != null) {
      action.accept(attempt);
    }
    if (connection != null) {
      action.accept(connection);
    }
  }

  /**
   * Loses the link.
   *
   * @param why null if the peer has left in peace
   * @return whether it was not lost before, so that the sink is to be told
   */
  public boolean lose(@Nullable Throwable why) {
    boolean first = state != State.LOST;
    if (first) {
      state = State.LOST;
      cause = why;
    }
    return first;
  }

  /** Replaces the cause that the link was lost for, of which the sink has not been told yet. */
  public void explain(Throwable why) {
    cause = why;
  }

  /** Returns why the link was lost; null if the peer has left in peace, or the link lives. */
  public @Nullable Throwable cause() {
    return cause;
  }
}
