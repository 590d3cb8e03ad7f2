package io.collectives.bench.simulate;

import io.collectives.Mesh;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The parts of which networks of any size are built.
 *
 * @param wire of all links
 * @param others of links that are not like that
 * @param pod the shape of the pods that meshes are laid out in
 * @param hosts what ranks share
 */
public record Fabric(Wire wire, List<Other> others, Optional<Mesh> pod, Hosts hosts) {
  /** Its own list. */
  public Fabric {
    others = List.copyOf(others);
  }

  /** A mesh. */
  Network mesh(Mesh mesh) {
    Network network = Network.of(mesh, wire);
    pod.ifPresent(p -> network.withPods(p.x(), p.y()));
    return with(network.withHosts(hosts, mesh.ranks()));
  }

  /**
   * A link for each pair of ranks.
   *
   * @param firstAlone from this rank on each has a host of its own
   */
  Network pairs(int ranks, int firstAlone) {
    return with(Network.ofPairs(ranks, wire).withHosts(hosts, firstAlone));
  }

  private Network with(Network network) {
    for (Other other : others) {
      other.on(network);
    }
    return network;
  }

  /** The first of the other links that none of the networks has. */
  public Optional<Other> unused(Collection<Network> networks) {
    return others.stream()
        .filter(
            other ->
                other.links().isPresent()
                    && networks.stream().noneMatch(each -> each.has(other.links().get())))
        .findFirst();
  }

  /**
   * Links that are different.
   *
   * @param text as written
   * @param links a class of them, or
   * @param from where the only one begins, and
   * @param to where it ends
   * @param wire what they are like
   */
  public record Other(String text, Optional<LinkClass> links, int from, int to, Wire wire) {
    private static final Pattern FORM =
        Pattern.compile("(x|y|pods|host|racks|other|(\\d{1,5})-(\\d{1,5}))=(.*),(.*)");

    /**
     * Reads some, as {@code x=2us,10GB/s} or {@code 3-4=2us,10GB/s}.
     *
     * @throws IllegalArgumentException if they are none
     */
    public static Other parse(String text) {
      Matcher matcher = FORM.matcher(text);
      if (!matcher.matches()) {
        throw new IllegalArgumentException(
            "'"
                + text
                + "' is no link; write x=1us,70GB/s, y=…, pods=…, host=…, racks=…, other=… or"
                + " 3-4=…");
      }
      try {
        Wire wire =
            new Wire(Quantities.nanos(matcher.group(4)), Quantities.nanosPerByte(matcher.group(5)));
        return matcher.group(2) == null
            ? new Other(
                text,
                Optional.of(LinkClass.valueOf(matcher.group(1).toUpperCase(Locale.ROOT))),
                0,
                0,
                wire)
            : new Other(
                text,
                Optional.empty(),
                Integer.parseInt(matcher.group(2)),
                Integer.parseInt(matcher.group(3)),
                wire);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(text + ": " + e.getMessage(), e);
      }
    }

    private void on(Network network) {
      if (links.isEmpty()) {
        try {
          network.with(from, to, wire);
        } catch (IllegalArgumentException e) {
          throw new IllegalArgumentException("--link " + text + ": " + e.getMessage(), e);
        }
      } else if (network.has(links.get())) {
        network.with(links.get(), wire);
      }
    }
  }
}
