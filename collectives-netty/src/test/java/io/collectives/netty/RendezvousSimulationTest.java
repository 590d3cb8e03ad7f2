package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSecret;
import io.collectives.JoinException;
import io.collectives.internal.Log;
import io.collectives.internal.RefusalLog;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.helpers.NOPLogger;

/**
 * Rendezvous by TCP on a network and a clock of their own: thousands of schedules, each drawn from
 * a seed, in which ranks come late, twice or never, die, are stopped and come back, connections
 * break or fall silent, and unauthenticated peers say whatever they like.
 *
 * <p>More of them: {@code -Dcollectives.simulations=1000000 -Dcollectives.firstSimulation=2000}.
 */
@Tag("once")
@Timeout(240)
final class RendezvousSimulationTest {
  private static final int SIMULATIONS = Integer.getInteger("collectives.simulations", 2_000);
  private static final int FIRST = Integer.getInteger("collectives.firstSimulation", 0);

  /**
   * The words of an error, each of which names who is missing or lost, or what is wrong with whom.
   */
  private static final Pattern REASON =
      Pattern.compile(
          "^ranks? [0-9, …()]+ ha(s|ve) not come to tcp://there:1"
              + "|^rank \\d+ \\(p\\d+\\) came to tcp://there:1, .* and was lost"
              + "|^rank 0 of job \"job\" was met by rank \\d+ at tcp://there:1, and was lost"
              + "|^rank \\d+ of job \"job\" met nobody at tcp://there:1"
              + "|^at tcp://there:1 is no rank 0 of a job: "
              + "|^rank \\d+ \\(p\\d+\\) has another job secret than rank 0 \\(p\\d+\\)"
              + "|^rank \\d+ of job \"job\" is p\\d+ already; p\\d+ must take another rank"
              + "|^rank 0 cannot listen");

  /** Far more than a schedule takes that gets on. */
  private static final long MOST_EVENTS = 1_000_000;

  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

  /**
   * The time by which a rank may end later than its limit: the grace, and the last attempt to
   * connect.
   */
  private static final long LATE_NANOS = RendezvousTerms.GRACE_NANOS + 200 * MILLI;

  @Test
  void allMeetOrEachKnowsInTimeWhyNot() {
    for (int seed = FIRST; seed < FIRST + SIMULATIONS; seed++) {
      run(seed);
    }
  }

  /** Seeds that have found a fault once, or that a fault was put back for. */
  @ParameterizedTest
  @ValueSource(longs = {38, 76})
  void pastSeeds(long seed) {
    run(seed);
  }

  private static void run(long seed) {
    Simulation simulation = new Simulation(seed);
    try {
      simulation.run();
    } catch (RuntimeException | Error e) {
      throw new AssertionError(
          "schedule " + seed + ", -Dcollectives.firstSimulation=" + seed + "\n" + simulation.story,
          e);
    }
  }

  /** Something that happens at a time to a process, or to the network. */
  private record Event(long time, long number, @Nullable Actor owner, Runnable what) {}

  /** A schedule. */
  private static final class Simulation {
    final Random random;
    final StringBuilder story = new StringBuilder();
    final PriorityQueue<Event> events =
        new PriorityQueue<>(
            (a, b) ->
                a.time != b.time ? Long.compare(a.time, b.time) : Long.compare(a.number, b.number));
    final List<Actor> parties = new ArrayList<>();
    final int size;
    final Duration timeout;
    final Duration returnLimit;
    final @Nullable JobSecret secret;

    /** If true, everybody behaves, so that all who come in time must meet. */
    final boolean calm;

    final Set<Integer> absent = new HashSet<>();
    long began;
    long now;
    long numbers;
    @Nullable Server listening;

    Simulation(long seed) {
      random = new Random(seed * 0x9E3779B97F4A7C15L + 1);
      size = 2 + random.nextInt(5);
      calm = random.nextInt(3) == 0;
      timeout = Duration.ofMillis(1_000 + random.nextInt(20_000));
      returnLimit = Duration.ofMillis(200 + random.nextInt(3_000));
      secret = random.nextBoolean() ? JobSecret.of("a secret of the simulation") : null;
      // A clock may stand anywhere, and wrap.
      now = random.nextBoolean() ? Long.MAX_VALUE / 2 : -random.nextLong() / 4;
      began = now;
    }

    void run() {
      for (int rank = 0; rank < size; rank++) {
        if (random.nextInt(8) == 0) {
          absent.add(rank);
          continue;
        }
        start(rank, rank, random.nextLong(timeout.toNanos() / (calm ? 4 : 1)));
        if (!calm && random.nextInt(10) == 0) {
          start(rank, size + rank, random.nextLong(timeout.toNanos()));
        }
      }
      for (int i = random.nextInt(4); i > 0; i--) {
        UnauthenticatedPeer peer = new UnauthenticatedPeer(this, random.nextInt(7));
        at(random.nextLong(timeout.toNanos()), peer, peer::come);
      }
      if (!calm && random.nextInt(10) == 0) {
        FalseHost host = new FalseHost(this);
        at(random.nextLong(timeout.toNanos()), host, host::begin);
      }
      if (random.nextInt(20) == 0) {
        for (int i = 0; i < 80; i++) {
          UnauthenticatedPeer peer = new UnauthenticatedPeer(this, 0);
          at(random.nextLong(timeout.toNanos() / 2), peer, peer::come);
        }
      }
      for (Event event = events.poll(); event != null; event = events.poll()) {
        now = event.time;
        assertTrue(numbers < MOST_EVENTS, "nothing gets on any more");
        Actor owner = event.owner;
        if (owner != null && owner.stoppedUntil > now) {
          events.add(new Event(owner.stoppedUntil, numbers++, owner, event.what));
        } else if (owner == null || !owner.dead) {
          event.what.run();
          if (owner != null && !owner.dead) {
            owner.drive();
          }
        }
      }
      check();
    }

    private void start(int rank, int process, long delay) {
      Announcement me =
          new Announcement(
              "job",
              rank,
              size,
              Rendezvous.PROTOCOL_VERSION,
              "tcp",
              "at-" + process,
              "p" + process);
      boolean impostor = secret != null && !calm && random.nextInt(12) == 0;
      RendezvousTerms terms =
          new RendezvousTerms(
              "tcp://there:1",
              me,
              timeout,
              returnLimit,
              impostor ? JobSecret.of("quite another secret") : secret,
              random);
      Rank party = rank == 0 ? new Server(this, terms) : new Client(this, terms);
      parties.add(party);
      at(delay, party, party::begin);
      if (!calm && random.nextInt(6) == 0) {
        at(delay + random.nextLong(timeout.toNanos()), null, party::kill);
        if (random.nextBoolean()) {
          int next = process + 2 * size;
          if (next < 8 * size) {
            start(rank, next, delay + random.nextLong(2 * timeout.toNanos()));
          }
        }
      }
      if (!calm && random.nextInt(8) == 0) {
        at(delay + random.nextLong(timeout.toNanos()), null, () -> party.stop());
      }
    }

    void at(long delay, @Nullable Actor owner, Runnable what) {
      events.add(new Event(now + delay, numbers++, owner, what));
    }

    /** Returns how long something takes on this network. */
    long latency() {
      return random.nextLong((random.nextInt(10) == 0 ? 200 : 5) * MILLI) + 1;
    }

    void tell(String what) {
      story.append((now - began) / MILLI).append(" ms: ").append(what).append('\n');
    }

    // ---------------------------------------------------------------- what must hold

    private void check() {
      Map<JobEpoch, Roster> rosters = new HashMap<>();
      boolean met = false;
      for (Actor party : parties) {
        if (!(party instanceof Rank rank) || rank.dead || !rank.begun) {
          continue;
        }
        assertTrue(rank.ended, () -> rank + " waits for ever");
        assertTrue(
            rank.endedAt - rank.begunAt <= timeout.toNanos() + LATE_NANOS + rank.stoppedNanos,
            () -> rank + " took " + (rank.endedAt - rank.begunAt) / MILLI + " ms");
        Roster roster = rank.roster;
        if (roster != null) {
          met = true;
          Roster first = rosters.putIfAbsent(roster.epoch(), roster);
          assertTrue(first == null || first.equals(roster), "two rosters of one epoch");
          assertEquals(size, roster.addresses().size());
          assertEquals(
              rank.terms.me().address(), roster.addresses().get(rank.terms.me().rank()), rank + "");
          for (int place = 0; place < size; place++) {
            int process = Integer.parseInt(roster.addresses().get(place).substring(3));
            assertEquals(place, process % size, () -> "who sits where in " + roster);
          }
        } else {
          String why = String.valueOf(rank.failure.getMessage());
          assertTrue(REASON.matcher(why).find(), why);
        }
      }
      if (calm) {
        assertEquals(absent.isEmpty(), met, "those who came in time");
        assertTrue(rosters.size() <= 1, "one rendezvous");
        for (Actor party : parties) {
          if (party instanceof Rank rank) {
            assertEquals(met, rank.roster != null, rank + ": " + rank.failure);
            if (!met) {
              namesTheAbsent(rank);
            }
          }
        }
      }
    }

    /** Whom a rank names as missing where nothing else has gone wrong. */
    private void namesTheAbsent(Rank rank) {
      String why = rank.failure.getMessage();
      if (absent.contains(0)) {
        assertTrue(why.contains("met nobody") && why.contains("rank 0 must be started"), why);
        return;
      }
      List<Integer> ranks = absent.stream().sorted().toList();
      String named =
          ranks.size() == 1
              ? "rank " + ranks.get(0) + " has not come"
              : "ranks " + ranks.toString().replaceAll("[\\[\\]]", "") + " have not come";
      assertTrue(why.startsWith(named), () -> why + "\nabsent: " + ranks);
    }
  }

  /** A process. */
  private abstract static class Actor {
    final Simulation world;
    final List<End> ends = new ArrayList<>();
    boolean dead;
    long stoppedUntil = Long.MIN_VALUE;
    long stoppedNanos;

    Actor(Simulation world) {
      this.world = world;
    }

    /** Does what is to be done after anything has happened. */
    void drive() {}

    void kill() {
      if (!dead) {
        dead = true;
        world.tell(this + " dies");
        if (world.listening == this) {
          world.listening = null;
        }
        List.copyOf(ends).forEach(End::reset);
      }
    }

    void stop() {
      long nanos = world.random.nextLong(4_000 * MILLI);
      stoppedUntil = world.now + nanos;
      stoppedNanos += nanos;
      world.tell(this + " is stopped for " + nanos / MILLI + " ms");
    }
  }

  /** A process of the job. */
  private abstract static class Rank extends Actor {
    final RendezvousTerms terms;
    boolean begun;
    boolean ended;
    long begunAt;
    long endedAt;
    @Nullable Roster roster;
    @Nullable JoinException failure;
    private long timer;

    Rank(Simulation world, RendezvousTerms terms) {
      super(world);
      this.terms = terms;
    }

    void begin() {
      begun = true;
      begunAt = world.now;
      world.tell(this + " begins");
    }

    void end(Supplier<Roster> result) {
      ended = true;
      endedAt = world.now;
      try {
        roster = result.get();
        world.tell(this + " has met");
      } catch (JoinException e) {
        failure = e;
        world.tell(this + " gives up: " + e.getMessage());
      }
    }

    /** Is looked at again at a time, or before. */
    void alarm(long time) {
      long number = ++timer;
      world.at(
          Math.max(time - world.now, 1),
          null,
          () -> {
            if (number == timer && !dead) {
              world.at(0, this, () -> {});
            }
          });
    }

    @Override
    public String toString() {
      return getClass().getSimpleName() + " " + terms.me().rank() + " at " + terms.me().address();
    }
  }

  /** Rank 0. */
  private static class Server extends Rank {
    private @Nullable RendezvousServer machine;
    private final Queue<End> backlog = new ArrayDeque<>();

    Server(Simulation world, RendezvousTerms terms) {
      super(world, terms);
    }

    @Override
    void begin() {
      super.begin();
      if (world.listening != null) { // Its port is taken.
        end(
            () -> {
              throw new JoinException("rank 0 cannot listen at " + terms.place());
            });
        return;
      }
      world.listening = this;
      machine =
          new RendezvousServer(terms, new RefusalLog(Log.to(NOPLogger.NOP_LOGGER)), world.now);
    }

    void arrives(End near) {
      backlog.add(near);
    }

    @Override
    void drive() {
      RendezvousServer server = machine;
      if (server == null || ended) {
        return;
      }
      server.tick(world.now);
      while (server.hasRoom() && !backlog.isEmpty()) {
        End line = backlog.remove();
        if (line.closed) {
          continue;
        }
        line.party = server.admit(line);
        line.party.connected(world.now);
        line.guarded = true;
        line.deliver();
        server.tick(world.now);
      }
      long open = ends.stream().filter(end -> end.guarded && !end.closed).count();
      assertTrue(open <= RendezvousServer.VISITOR_LIMIT + terms.me().size(), "open lines");
      if (!server.isGathering() && world.listening == this) {
        world.listening = null;
        backlog.forEach(End::reset);
        backlog.clear();
      }
      if (server.isOver(world.now)) {
        server.close(world.now);
        end(server::result);
      } else {
        alarm(server.nextNanos());
      }
    }

    @Override
    void kill() {
      super.kill();
      backlog.forEach(End::reset);
    }
  }

  /** Any other rank. */
  private static final class Client extends Rank {
    private @Nullable RendezvousClient machine;

    Client(Simulation world, RendezvousTerms terms) {
      super(world, terms);
    }

    @Override
    void begin() {
      super.begin();
      machine = RendezvousClient.coming(terms, world.now);
    }

    @Override
    void drive() {
      RendezvousClient client = machine;
      if (client == null || ended) {
        return;
      }
      client.tick(world.now);
      if (client.wantsLine(world.now)) {
        End line = new End(world, this);
        line.party = client;
        client.dials(line, world.now);
        line.dial();
      }
      if (client.isOver()) {
        end(client::result);
      } else {
        alarm(client.nextNanos());
      }
    }
  }

  /** Somebody who connects to rank 0 and is no rank. */
  private static final class UnauthenticatedPeer extends Actor implements Line.Party {
    private final int kind;
    private End line;

    UnauthenticatedPeer(Simulation world, int kind) {
      super(world);
      this.kind = kind;
    }

    void come() {
      line = new End(world, this);
      line.party = this;
      line.dial();
    }

    @Override
    public void connected(long now) {
      Random random = world.random;
      byte[] right =
          RendezvousWire.announcement(
              new Announcement(
                  kind == 4 ? "other\u001b" : "job",
                  kind == 5 ? -1 : 1,
                  kind == 4 ? 5 : 1 + random.nextInt(Integer.MAX_VALUE),
                  Rendezvous.PROTOCOL_VERSION,
                  "tcp",
                  "x",
                  "unauthenticated peer"),
              random.nextInt(),
              new byte[RendezvousWire.NONCE_LENGTH]);
      switch (kind) {
        case 0 -> {} // Says nothing.
        case 1 -> {
          byte[] noise = new byte[1 + random.nextInt(3_000)];
          random.nextBytes(noise);
          line.send(noise);
        }
        case 2 -> {
          // A byte now and then.
          for (int i = 0; i < right.length; i++) {
            byte[] one = {right[i]};
            world.at(i * 100 * MILLI, this, () -> line.send(one));
          }
        }
        case 3 -> {
          right[random.nextInt(right.length)] ^= (byte) (1 << random.nextInt(8));
          line.send(right);
        }
        case 6 -> {
          line.send(Arrays.copyOf(right, random.nextInt(right.length)));
          line.close();
        }
        default -> line.send(right);
      }
    }

    @Override
    public int room() {
      return 100;
    }

    @Override
    public void received(ByteBuffer bytes, long now) {
      bytes.position(bytes.limit());
    }

    @Override
    public void ended(@Nullable IOException why, long now) {}
  }

  /** Somebody who listens where rank 0 should, and answers slowly, wrongly, or not. */
  private static final class FalseHost extends Actor {
    private final int kind;

    FalseHost(Simulation world) {
      super(world);
      kind = world.random.nextInt(4);
    }

    void begin() {
      Server taken = world.listening;
      if (taken == null) {
        Announcement nobody = new Announcement("job", 0, world.size, 1, "tcp", "at-0", "false");
        world.listening =
            new Server(
                world,
                new RendezvousTerms(
                    "tcp://there:1",
                    nobody,
                    world.timeout,
                    world.returnLimit,
                    null,
                    world.random)) {
              @Override
              void arrives(End near) {
                near.owner = FalseHost.this;
                answer(near);
              }
            };
        world.tell("a false rank 0 listens");
        Server own = world.listening;
        world.at(
            world.random.nextLong(2 * world.timeout.toNanos()),
            null,
            () -> {
              if (world.listening == own) {
                world.listening = null;
              }
            });
      }
    }

    private void answer(End line) {
      Random random = world.random;
      ByteArrayOutputStream text = new ByteArrayOutputStream();
      switch (kind) {
        case 0 -> {}
        case 1 -> text.writeBytes(RendezvousWire.refusal("x".repeat(1_000)));
        case 2 -> {
          for (int i = 0; i < 300; i++) {
            text.write(random.nextInt());
          }
        }
        default -> text.writeBytes(RendezvousWire.challenge(new byte[16]));
      }
      byte[] bytes = text.toByteArray();
      for (int i = 0; i < bytes.length - 1; i++) {
        byte[] one = {bytes[i]};
        world.at(i * 300 * MILLI, this, () -> line.send(one));
      }
    }
  }

  /** An end of a connection. */
  private static final class End implements Line {
    final Simulation world;
    Actor owner;
    Line.@Nullable Party party;
    @Nullable End other;
    boolean closed;
    boolean guarded; // Whether it is rank 0's.
    private final ByteArrayOutputStream arrived = new ByteArrayOutputStream();
    private boolean over; // Nothing will arrive behind what has.
    private boolean silent; // Nothing gets through any more.
    private int read;
    private long lastArrival;

    End(Simulation world, Actor owner) {
      this.world = world;
      this.owner = owner;
      this.lastArrival = world.now;
      owner.ends.add(this);
    }

    void dial() {
      if (!world.calm && world.random.nextInt(30) == 0) {
        return; // Lost on its way, and no answer ever.
      }
      world.at(
          world.latency(),
          null,
          () -> {
            Server server = world.listening;
            world.at(world.latency(), owner, () -> dialled(server));
          });
    }

    private void dialled(@Nullable Server server) {
      if (closed) {
        return;
      }
      if (server == null || world.listening != server) {
        fail(new ConnectException("Connection refused"));
        return;
      }
      End far = new End(world, server);
      far.other = this;
      other = far;
      Random random = world.random;
      if (!world.calm && random.nextInt(12) == 0) {
        world.at(random.nextLong(world.timeout.toNanos()), null, this::breakOff);
      }
      world.at(
          1,
          null,
          () -> {
            if (world.listening == server) {
              server.arrives(far);
              world.at(0, server, () -> {});
            } else {
              far.reset();
            }
          });
      if (party != null) {
        party.connected(world.now);
      }
    }

    private void breakOff() {
      End far = other;
      if (world.random.nextBoolean()) {
        silent = true;
        if (far != null) {
          far.silent = true;
        }
        world.tell("a connection falls silent");
      } else if (far != null) {
        world.tell("a connection breaks");
        hearsOfTheEnd();
        far.hearsOfTheEnd();
      }
    }

    private void hearsOfTheEnd() {
      world.at(
          world.latency(),
          owner,
          () -> {
            if (!closed) {
              fail(new IOException("Connection reset"));
            }
          });
    }

    @Override
    public void send(byte[] bytes) {
      if (closed) {
        return;
      }
      for (int at = 0; at < bytes.length; ) {
        int length = 1 + world.random.nextInt(bytes.length - at);
        byte[] piece = Arrays.copyOfRange(bytes, at, at + length);
        at += length;
        towards(far -> far.arrived.writeBytes(piece));
      }
    }

    /** Something gets to the other end, behind all that was on its way before. */
    private void towards(Consumer<End> what) {
      End far = other;
      if (far == null || silent) {
        return;
      }
      lastArrival = Math.max(world.now + world.latency(), lastArrival + 1);
      world.at(
          lastArrival - world.now,
          null,
          () -> {
            if (!far.silent && !far.closed) {
              what.accept(far);
              world.at(0, far.owner, far::deliver);
            }
          });
    }

    /** Gives what has arrived to whoever this end belongs to, as far as it wants it. */
    void deliver() {
      Random random = world.random;
      byte[] all = arrived.toByteArray();
      while (party != null && !closed && read < all.length) {
        int room = party.room();
        assertTrue(room > 0, "no room is no way to wait");
        int length = Math.min(1 + random.nextInt(all.length - read), room);
        read += length;
        if (guarded) {
          assertTrue(
              read <= RendezvousWire.ANNOUNCEMENT_LIMIT + RendezvousWire.HMAC_LENGTH + 1,
              "so much was read from one who connected: " + read);
        }
        party.received(ByteBuffer.wrap(all, read - length, length).slice(), world.now);
      }
      if (party != null && !closed && over && read == all.length) {
        fail(null);
      }
    }

    private void fail(@Nullable IOException why) {
      Line.Party told = party;
      close();
      if (told != null) {
        told.ended(why, world.now);
      }
    }

    /**
     * Resets the connection as when the process at the other end dies: what is on its way is lost.
     */
    void reset() {
      End far = other;
      closed = true;
      owner.ends.remove(this);
      if (far != null && !far.silent) {
        far.hearsOfTheEnd();
      }
    }

    @Override
    public void finish() {
      Line.Party told = party;
      towards(far -> far.over = true);
      world.at(
          world.latency(),
          owner,
          () -> {
            if (!closed && told != null) {
              closed = true;
              owner.ends.remove(this);
              told.ended(null, world.now);
            }
          });
    }

    @Override
    public void close() {
      if (!closed) {
        towards(far -> far.over = true);
        closed = true;
        party = null;
        owner.ends.remove(this);
      }
    }
  }
}
