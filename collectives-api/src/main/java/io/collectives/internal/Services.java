package io.collectives.internal;

import java.util.ServiceLoader;

/** Finds the modules of the library. */
public final class Services {
  private Services() {}

  /**
   * The providers of a service: those that the class loader of the thread sees, and, if it sees
   * none, those that the loader of the library sees. In containers, and in threads of pools, the
   * two may differ.
   */
  public static <S> ServiceLoader<S> of(Class<S> service) {
    ServiceLoader<S> ofThread = ServiceLoader.load(service);
    // Who iterates afterwards goes on from there; a stream would look through the class path anew.
    return ofThread.iterator().hasNext()
        ? ofThread
        : ServiceLoader.load(service, Services.class.getClassLoader());
  }
}
