package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.engine.run.Ballot.Outcome;
import io.collectives.spi.BodyViews;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Orders of ballots that {@link SimulationTest} hardly ever finds. */
class ConsensusTest {
  private static final int RANKS = 4;

  /** Rank 0 decides while rank 2, which is cut off from it, has turned to rank 1. */
  @Test
  void aDecisionIsPassedOnToThoseWhoCannotHearTheLeader() {
    Bench bench = new Bench(RANKS, Algorithm.ring());
    Engine engine = bench.engines.get(1);
    Agreement agreement = engine.shrink(bench.groups.get(1), 10 * Bench.SECOND);
    BitSet nobody = new BitSet();
    BitSet leader = new BitSet();
    leader.set(0);
    // Rank 2 reports to rank 1, and again when that leads; rank 3 is late.
    say(bench, 2, ballot(Ballot.Kind.REPORT, leader, null));
    engine.poll();
    say(bench, 2, ballot(Ballot.Kind.REPORT, leader, null));
    engine.poll();
    assertTrue(kindsHeardBy(bench, 2).contains(Ballot.Kind.LEAD));

    say(bench, 0, ballot(Ballot.Kind.DECIDE, nobody, new Outcome(nobody, 0, null)));
    engine.poll();
    assertTrue(agreement.isOver());
    assertEquals(List.of(Ballot.Kind.DECIDE), kindsHeardBy(bench, 2));
  }

  private static Ballot ballot(Ballot.Kind kind, BitSet failed, @Nullable Outcome outcome) {
    Ballot.GroupState state = new Ballot.GroupState(RANKS, 0, failed, new BitSet());
    return new Ballot(Ballot.Topic.SURVIVORS, kind, 0, state, outcome, null);
  }

  /** A rank, whose engine is not polled, sends a ballot to rank 1. */
  private static void say(Bench bench, int from, Ballot ballot) {
    FrameHeader header = new FrameHeader();
    header.kind = FrameHeader.Kind.AGREEMENT;
    header.group = bench.groups.get(1).id;
    header.length = ballot.body().length();
    assertTrue(bench.transports.get(from).link(1).trySend(header, ballot.body()));
  }

  /** Takes what rank 1 has sent to a rank, and returns the kinds of ballots on survivors in it. */
  private static List<Ballot.Kind> kindsHeardBy(Bench bench, int rank) {
    Transport transport = bench.transports.get(rank);
    List<Ballot.Kind> kinds = new ArrayList<>();
    Objects.requireNonNull(transport.capability(BodyViews.class))
        .viewBy((link, header, body) -> kinds.addAll(survivorsKind(header, body)));
    FrameSink heads = new Heads();
    while (transport.poll(heads) > 0) {}
    return kinds;
  }

  private static List<Ballot.Kind> survivorsKind(FrameHeader header, FrameBody body) {
    FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(body.length() + 7 & ~7));
    body.store(bytes, 0);
    body.release();
    return header.kind == FrameHeader.Kind.AGREEMENT
            && Ballot.topic(bytes, body.length()) == Ballot.Topic.SURVIVORS
        ? List.of(Ballot.read(bytes, body.length(), RANKS, RANKS).kind())
        : List.of();
  }

  private static final class Heads implements FrameSink {
    @Override
    public void header(Link link, FrameHeader header) {}

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {}

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      throw new AssertionError("rank " + link.peer() + " is lost", cause);
    }
  }
}
