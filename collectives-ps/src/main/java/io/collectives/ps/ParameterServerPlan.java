package io.collectives.ps;

import io.collectives.Algorithm.ParameterServer;
import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import io.collectives.plan.Transfer;
import java.util.stream.IntStream;

/**
 * Workers that push to, and pull from, S servers which each serve an equal part of every buffer:
 * the balanced fusion buffers of Herring (Thangakrishnan et al. 2020, section III). Dedicated
 * servers are the last ranks and contribute nothing; the other servers are workers, too, the first
 * ranks.
 *
 * <p>Shape: S chunks, 1 lane; every worker has a link to and from every server. The servers own the
 * chunks in the order of their ranks.
 *
 * <p>Steps: 2. Bytes, with W workers: a worker that does not serve sends M and receives M; one that
 * serves sends, and receives, M(S-1)/S for itself and M(W-1)/S for the others; a dedicated server M
 * W/S. With S = W servers that are all dedicated everybody sends M; with as many that are workers
 * 2M(W-1)/W, no less than in a ring, but in two steps.
 *
 * <p>The transfers are named by distance, worker s + d with the server of chunk s: so workers speak
 * with different servers at a time, and chunk s is x(s) + x(s+1) + … + x(s-1), from the left,
 * whether its server is one of the workers or not.
 *
 * <p><b>On hosts</b> (section III-A) of g workers each there is a step before, in which each gets
 * from the others of its host its {@linkplain Shares share} and adds, and one after, in which it
 * tells them. In between it sends, and receives, M/g; a dedicated server M H/S, of H hosts. Each
 * part has a lane of its own, because what a worker sends of one does not wait for another.
 *
 * <p><b>Proxies</b> (section III-3): a server is P ranks, each of which speaks with a share of the
 * workers, and then, in two steps in the middle, with the others: it is sent what they have of the
 * chunks that it adds up, at most M/S (P-1)/P, and tells them the sums. Each of them has links to
 * about a Pth of the workers, and to the others.
 */
final class ParameterServerPlan {
  private final Shares shares;
  private final int firstServer;
  private final int endServer;

  /** Of the parts of some servers. */
  private ParameterServerPlan(Shares shares, int firstServer, int endServer) {
    this.shares = shares;
    this.firstServer = firstServer;
    this.endServer = endServer;
  }

  static Plan allReduce(int ranks, ParameterServer algorithm) {
    Shares shares = new Shares(ranks, algorithm);
    int servers = shares.servers;
    return Plan.of(
        PlanRequest.of(Collective.ALL_REDUCE, ranks),
        shares.workers,
        Math.multiplyExact(servers, shares.chunksOfPart),
        shares.hierarchical
            ? IntStream.range(0, servers)
                .mapToObj(server -> new ParameterServerPlan(shares, server, server + 1).rounds())
                .toArray(Rounds[]::new)
            : new Rounds[] {new ParameterServerPlan(shares, 0, servers).rounds()});
  }

  /** In, and back the same way. */
  private Rounds rounds() {
    return onHosts(Effect.REDUCE)
        .then(withServers(Effect.REDUCE))
        .then(betweenProxies(Effect.REDUCE))
        .then(betweenProxies(Effect.REPLACE))
        .then(withServers(Effect.REPLACE))
        .then(onHosts(Effect.REPLACE));
  }

  /** A round, if there is anything to do in it. */
  private static Rounds round(boolean needed, Rounds.Round round) {
    return Rounds.of(needed ? 1 : 0, round);
  }

  private Rounds withServers(Effect effect) {
    int workers = shares.workers;
    return round(
        shares.ranks > 1,
        (round, sink) -> {
          for (int distance = 0; distance < workers; distance++) {
            for (int server = firstServer; server < endServer; server++) {
              int worker = (server + distance) % workers;
              if (shares.speaks(server, worker)) {
                int from = shares.from(server, worker);
                int count = shares.to(server, worker) - from;
                move(sink, worker, shares.proxy(server, worker), server, from, count, effect);
              }
            }
          }
        });
  }

  private Rounds onHosts(Effect effect) {
    return round(
        shares.hierarchical,
        (round, sink) -> {
          for (int[] host : shares.hosts) {
            for (int distance = 1; distance < host.length; distance++) {
              for (int place = 0; place < host.length; place++) {
                int owner = host[place];
                int other = host[(place + distance) % host.length];
                for (int server = firstServer; server < endServer; server++) {
                  int from = shares.from(server, owner);
                  int count = shares.to(server, owner) - from;
                  if (count > 0) {
                    move(sink, other, owner, server, from, count, effect);
                  }
                }
              }
            }
          }
        });
  }

  private Rounds betweenProxies(Effect effect) {
    return round(
        shares.hasProxies(),
        (round, sink) -> {
          for (int server = firstServer; server < endServer; server++) {
            int part = server;
            int[] proxies = shares.proxies[server];
            for (int distance = 1; distance < proxies.length; distance++) {
              for (int owner = 0; owner < proxies.length; owner++) {
                int other = (owner + distance) % proxies.length;
                int to = proxies[owner];
                shares.eachRange(
                    server,
                    owner,
                    other,
                    (from, count) -> move(sink, proxies[other], to, part, from, count, effect));
              }
            }
          }
        });
  }

  /** To the owner of some chunks of a part, to be added, or back from it. */
  private void move(
      Transfer.Sink sink, int other, int owner, int server, int from, int count, Effect effect) {
    boolean in = effect == Effect.REDUCE;
    int first = server * shares.chunksOfPart + from;
    sink.transfer(in ? other : owner, in ? owner : other, first, count, effect);
  }
}
