package io.collectives.ps;

import io.collectives.Algorithm.ParameterServer;
import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import io.collectives.plan.Transfer;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The plan of parameter servers: workers push to, and pull from, S servers, each of which reduces
 * an equal part of every buffer: the balanced fusion buffers of Herring (Thangakrishnan et al.
 * 2020, section III). Dedicated servers are the last ranks and contribute nothing; the other
 * servers are workers, too, the first ranks.
 *
 * <p>The plan has S chunks and 1 lane; every worker has a link to and from every server. The
 * servers own the chunks in the order of their ranks.
 *
 * <p>Steps: 2. Bytes, with W workers: a worker that does not serve sends M and receives M; one that
 * serves sends, and receives, M(S-1)/S for itself and M(W-1)/S for the others; a dedicated server M
 * W/S. With S = W servers that are all dedicated every rank sends M; with as many that are workers
 * every rank sends 2M(W-1)/W, no less than in a ring, but in two steps.
 *
 * <p>The transfers are listed by distance, worker s + d with the server of chunk s: so at any time
 * workers exchange data with different servers, and chunk s is x(s) + x(s+1) + … + x(s-1), from the
 * left, whether its server is one of the workers or not.
 *
 * <p><b>On hosts</b> (section III-A) of g workers each there is a step before, in which each worker
 * receives its {@linkplain Shares share} from the others of its host and adds it up, and one after,
 * in which it sends them the results. In between a worker sends, and receives, M/g, and a dedicated
 * server M H/S, of H hosts. Each part has a lane of its own, because a worker's transfers of one
 * part do not wait for those of another.
 *
 * <p><b>Proxies</b> (section III-3): a server consists of P ranks, each of which exchanges frames
 * with a share of the workers, and adds up a Pth of the part. What a worker contributes to the
 * chunks of another proxy is {@linkplain Transfer.Sink#relayed relayed}: it lands in memory that
 * the proxies share, and the other one adds it to the sum from there, once and in the same order as
 * if the worker had sent it straight. The sums go to the other proxies in a step in the middle, at
 * most M/S (P-1)/P, and from them to the workers. Each proxy has links to about a Pth of the
 * workers, and to the other proxies. So one rank sees all contributions to a chunk, as without
 * proxies, and adds them in the same order, to the same bits.
 */
final class ParameterServerPlan {
  private final Shares shares;
  private final int firstServer;
  private final int endServer;

  /** Makes a plan for the parts of some servers. */
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

  /** Makes the rounds to the servers and back the same way. */
  private Rounds rounds() {
    return onHosts(Effect.REDUCE)
        .then(toServers())
        .then(toProxies())
        .then(fromServers())
        .then(onHosts(Effect.REPLACE));
  }

  /** Makes a round, or none if there is nothing to do in it. */
  private static Rounds round(boolean needed, Rounds.Round round) {
    return Rounds.of(needed ? 1 : 0, round);
  }

  private Rounds toServers() {
    return round(
        shares.ranks > 1,
        (round, sink) ->
            eachPair(
                (server, worker) -> {
                  int proxy = shares.proxy(server, worker);
                  for (Shares.Run run : shares.runs(server, worker)) {
                    int first = server * shares.chunksOfPart + run.from();
                    int owner = run.owner();
                    if (owner == proxy) {
                      sink.transfer(worker, owner, first, run.count(), Effect.REDUCE);
                    } else {
                      sink.relayed(worker, proxy, owner, first, run.count(), Effect.REDUCE);
                    }
                  }
                }));
  }

  /** Makes a round for each run, so that frames are as long as those to the servers. */
  private Rounds fromServers() {
    return Rounds.of(
        shares.mostRuns(),
        (round, sink) ->
            eachPair(
                (server, worker) -> {
                  List<Shares.Run> runs = shares.runs(server, worker);
                  if (round < runs.size()) {
                    Shares.Run run = runs.get(round);
                    int first = server * shares.chunksOfPart + run.from();
                    int proxy = shares.proxy(server, worker);
                    sink.transfer(proxy, worker, first, run.count(), Effect.REPLACE);
                  }
                }));
  }

  /** A function of a server and a worker that exchanges chunks with it. */
  @FunctionalInterface
  private interface Pair {
    void of(int server, int worker);
  }

  /** Passes all servers and workers to a function by their distance. */
  private void eachPair(Pair pair) {
    int workers = shares.workers;
    for (int distance = 0; distance < workers; distance++) {
      for (int server = firstServer; server < endServer; server++) {
        int worker = (server + distance) % workers;
        if (shares.speaks(server, worker)) {
          pair.of(server, worker);
        }
      }
    }
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

  private Rounds toProxies() {
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
                    (from, count) ->
                        move(sink, proxies[other], to, part, from, count, Effect.REPLACE));
              }
            }
          }
        });
  }

  /** Lists the transfers of some chunks of a part to their owner, to be added, or back from it. */
  private void move(
      Transfer.Sink sink, int other, int owner, int server, int from, int count, Effect effect) {
    boolean in = effect == Effect.REDUCE;
    int first = server * shares.chunksOfPart + from;
    sink.transfer(in ? other : owner, in ? owner : other, first, count, effect);
  }
}
