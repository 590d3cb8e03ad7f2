package io.collectives.pipes;

import io.collectives.JobSettings;
import io.collectives.ProtocolException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.collectives.spi.Transport;
import io.collectives.spi.TransportProvider;
import java.io.EOFException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * A toy, for those who write a transport: ranks are threads of one JVM, and each pair has a pipe in
 * each direction, for frames as bytes. The last thing in it is the end; a rank that does not say
 * goodbye instead has died.
 */
public final class PipeTransport implements Transport {
  private static final int BODY_AT = FrameHeader.BYTES + 7 & ~7;
  private static final int ROOM = 16; // Frames.
  private static final FrameBytes GOODBYE = new FrameBytes(ByteBuffer.allocate(0));
  private static final FrameBytes END = new FrameBytes(ByteBuffer.allocate(0));

  private final PipeTransport[] job; // All ranks, as far as somebody needed them.
  private final int rank;
  private final PipeLink[] links;
  private final Semaphore news = new Semaphore(0);
  private boolean polling;
  private volatile boolean closing;
  private boolean closed; // Changed and asked for by who has the job's lock.

  private PipeTransport(PipeTransport[] job, int rank) {
    this.job = job;
    this.rank = rank;
    links = new PipeLink[job.length];
    Arrays.setAll(links, PipeLink::new);
  }

  /** A rank of a job, which it or a peer asks for first. */
  static PipeTransport of(PipeTransport[] job, int rank) {
    synchronized (job) {
      if (job[rank] == null) {
        job[rank] = new PipeTransport(job, rank);
      }
      return job[rank];
    }
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return links.length;
  }

  @Override
  public Link link(int peer) {
    if (Objects.checkIndex(peer, size()) == rank) {
      throw new IllegalArgumentException("rank " + rank + " has no link to itself");
    }
    links[peer].open();
    return links[peer];
  }

  @Override
  public synchronized int poll(FrameSink sink) {
    int work = 0;
    polling = true;
    try {
      for (PipeLink link : links) {
        work += link.receive(sink);
      }
    } finally {
      polling = false;
      if (closing) {
        end(true);
      }
    }
    return work;
  }

  @Override
  public void await(long nanos) {
    try {
      if (!closing && Arrays.stream(links).allMatch(link -> link.arriving.isEmpty())) {
        news.tryAcquire(nanos, TimeUnit.NANOSECONDS);
        news.drainPermits();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void wakeup() {
    news.release();
  }

  @Override
  public void close() {
    end(true);
  }

  /** Ends all; who is killed says no goodbye. */
  void end(boolean politely) {
    closing = true;
    wakeup();
    synchronized (this) {
      if (polling) {
        return; // The poll does it.
      }
      synchronized (job) {
        for (PipeLink link : links) {
          if (!closed && link.open) {
            link.send(politely ? GOODBYE : END);
          }
        }
        closed = true;
      }
    }
  }

  private final class PipeLink implements Link {
    private final int peer;
    private final FrameHeader header = new FrameHeader();
    private final Queue<FrameBytes> arriving = new ConcurrentLinkedQueue<>();
    private volatile boolean open;
    private boolean lost;

    PipeLink(int peer) {
      this.peer = peer;
    }

    void open() {
      if (!open && !closing) {
        synchronized (job) {
          open = true;
          PipeTransport other = of(job, peer);
          other.links[rank].open = true;
          if (other.closed) {
            arriving.add(END);
          }
        }
      }
    }

    @Override
    public int peer() {
      return peer;
    }

    @Override
    public boolean trySend(FrameHeader frame, FrameBody body) {
      if (frame.length != body.length()) {
        throw new IllegalArgumentException(frame + " with a body of " + body.length());
      }
      if (!closing && !lost) {
        if (of(job, peer).links[rank].arriving.size() >= ROOM) {
          return false;
        }
        FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(BODY_AT + frame.length));
        frame.write(bytes, 0);
        body.store(bytes, BODY_AT);
        send(bytes);
      }
      body.release();
      return true;
    }

    private void send(FrameBytes bytes) {
      of(job, peer).links[rank].arriving.add(bytes);
      of(job, peer).wakeup();
    }

    int receive(FrameSink sink) {
      int work = 0;
      while (open && !lost && !closing && !arriving.isEmpty()) {
        work++;
        FrameBytes bytes = arriving.remove();
        of(job, peer).wakeup(); // There is room.
        if (bytes == GOODBYE || bytes == END) {
          lost = true;
          String why = "rank " + peer + " has ended without a goodbye";
          sink.lost(this, bytes == GOODBYE ? null : new EOFException(why));
          continue;
        }
        try {
          header.read(bytes, 0, peer, rank);
        } catch (ProtocolException e) {
          send(END); // So that the peer has lost this rank, too.
          lost = true;
          sink.lost(this, e);
          continue;
        }
        sink.header(this, header);
        if (header.length > 0 && !closing) {
          sink.bytes(this, bytes, BODY_AT, header.length);
        }
      }
      return work;
    }
  }

  /** Ranks find each other by the epoch of their job, so any address does. */
  public static final class Provider implements TransportProvider {
    private static final Map<JobEpoch, PipeTransport[]> JOBS = new ConcurrentHashMap<>();

    @Override
    public String name() {
      return "pipe";
    }

    @Override
    public Endpoint listen(JobSettings settings) {
      return new Endpoint() {
        @Override
        public String address() {
          return "here";
        }

        @Override
        public Transport open(Roster roster) {
          int size = settings.size();
          return of(
              JOBS.computeIfAbsent(roster.epoch(), e -> new PipeTransport[size]), settings.rank());
        }

        @Override
        public void close() {}
      };
    }
  }
}
